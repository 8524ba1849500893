package selfstat

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A Watch compares the process with what it was at Start. It is for one
// goroutine.
type Watch struct {
	began time.Time
	usage usage
	usOK  bool
	gc    debug.GCStats // as of the last Look
	sched waits

	cycles          int64
	pauses, longest time.Duration
}

// Start begins to watch.
func Start() *Watch {
	w := &Watch{began: time.Now(), sched: readWaits()}
	w.usage, w.usOK = readUsage()
	debug.ReadGCStats(&w.gc)
	return w
}

// Look notes the garbage collections since the last call. The runtime
// remembers 256: a few calls a second miss none.
func (w *Watch) Look() {
	before := w.gc.NumGC
	total := w.gc.PauseTotal
	debug.ReadGCStats(&w.gc)
	n := w.gc.NumGC - before
	w.cycles += n
	w.pauses += w.gc.PauseTotal - total
	for i := range min(int(n), len(w.gc.Pause)) { // the most recent first
		w.longest = max(w.longest, w.gc.Pause[i])
	}
}

// Fill sets in m what the process used since Start.
func (w *Watch) Fill(m *export.ClientMeta) {
	w.Look()
	elapsed := time.Since(w.began)
	m.DurationNS = int64(elapsed)
	m.GC = &export.GCMeta{Cycles: int(w.cycles), PauseTotalNS: int64(w.pauses), PauseMaxNS: int64(w.longest)}
	m.SchedLatencyP99NS = int64(readWaits().since(w.sched).percentile(99))
	if now, ok := readUsage(); ok && w.usOK {
		cpu := &export.CPUMeta{
			UserNS: int64(now.user - w.usage.user), SystemNS: int64(now.system - w.usage.system),
			Cores: runtime.GOMAXPROCS(0),
		}
		if elapsed > 0 {
			// Ticks of the kernel's accounting can exceed a short span.
			cpu.Share = min(float64(cpu.UserNS+cpu.SystemNS)/(float64(elapsed)*float64(cpu.Cores)), 1)
		}
		m.CPU, m.MaxRSSBytes = cpu, now.maxRSS
	}
	if open, limit, ok := readFDs(); ok {
		m.FDs = &export.FDMeta{Open: open, Limit: limit}
	}
}

// usage is what getrusage tells.
type usage struct {
	user, system time.Duration
	maxRSS       int64 // bytes
}
