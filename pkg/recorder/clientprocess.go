package recorder

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// processWatch compares the process with its state at the start. It belongs to one
// goroutine.
type processWatch struct {
	began time.Time
	usage usage
	usOK  bool
	gc    debug.GCStats // as of the last look
	sched waits
	cores map[string]coreWait
	limit int64 // readThrottledNS

	cycles          int64
	pauses, longest time.Duration
}

func startProcessWatch() *processWatch {
	w := &processWatch{began: time.Now(), sched: readWaits(), cores: readCoreWaits(), limit: readThrottledNS(os.DirFS("/"))}
	w.usage, w.usOK = readUsage()
	debug.ReadGCStats(&w.gc)
	return w
}

// look adds the garbage collections since the last call. The runtime remembers 256, so a
// few calls a second miss none.
func (w *processWatch) look() {
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

// fill sets the fields of m about the process since the start.
func (w *processWatch) fill(m *export.ClientMeta) {
	w.look()
	w.fillTimes(m)
	if m.CPU != nil {
		addCoreWaits(m.CPU, w.cores, readCoreWaits())
		m.CPU.ThrottledNS = max(readThrottledNS(os.DirFS("/"))-w.limit, 0) // 0: another cgroup now
	}
	m.SchedLatencyP99NS = int64(readWaits().since(w.sched).percentile(99))
	if open, limit, ok := readFDs(); ok {
		m.FDs = &export.FDMeta{Open: open, Limit: limit}
	}
}

// fillTimes sets the fields about CPU time, memory, and garbage collections until the last
// look.
func (w *processWatch) fillTimes(m *export.ClientMeta) {
	elapsed := time.Since(w.began)
	m.DurationNS = int64(elapsed)
	m.GC = &export.GCMeta{Cycles: int(w.cycles), PauseTotalNS: int64(w.pauses), PauseMaxNS: int64(w.longest)}
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
}

// usage is the part of getrusage that is recorded.
type usage struct {
	user, system time.Duration
	maxRSS       int64 // bytes
}
