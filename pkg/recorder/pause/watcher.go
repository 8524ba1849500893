package pause

import (
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

const (
	// wakeEvery is the time between two readings of the clocks.
	wakeEvery = 20 * time.Millisecond
	// shortest is the least length of a pause. It exceeds the time between wake-ups
	// of a process that has enough CPU time.
	shortest = 50 * time.Millisecond
	// signalDelay is the longest time from a gap to its SIGCONT: the Go runtime
	// delivers signals through a goroutine, which a busy machine delays.
	signalDelay = time.Second
)

// sources are the clocks and the counter that a Watcher reads.
type sources struct {
	// nowNS is the clock of the run, which stands still in a suspended machine.
	nowNS func() uint64
	// asleep returns how long the machine has been suspended since it was started;
	// nil where that cannot be known.
	asleep func() time.Duration
	// continued returns the number of SIGCONT signals so far.
	continued func() uint64
}

// A Watcher finds the pauses of this process. Use [Start]. Its methods may be called
// from any goroutine.
type Watcher struct {
	sources
	quit, done chan struct{}

	mu     sync.Mutex
	pauses []export.Pause
}

// Start starts a Watcher. nowNS is the clock of the recorded times; it must advance
// with the monotonic clock. Stop ends the Watcher.
func Start(nowNS func() uint64) *Watcher {
	return start(sources{nowNS: nowNS, asleep: suspended, continued: continued})
}

func start(s sources) *Watcher {
	w := &Watcher{sources: s, quit: make(chan struct{}), done: make(chan struct{})}
	go w.run() // ends with Stop
	return w
}

// Stop ends the Watcher and returns all pauses, in the order of their ends. Call it
// once.
func (w *Watcher) Stop() []export.Pause {
	close(w.quit)
	<-w.done
	return w.Pauses()
}

// Pauses returns the pauses so far.
func (w *Watcher) Pauses() []export.Pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pauses)
}

// A look holds the readings of one wake-up.
type look struct {
	ns        uint64
	asleep    time.Duration
	continued uint64
}

func (w *Watcher) look() look {
	// The signals come first: the process may be stopped between the readings, and a
	// SIGCONT that is seen before its gap would not be taken for the end of it.
	l := look{continued: w.continued()}
	l.ns = w.nowNS()
	if w.asleep != nil {
		l.asleep = w.asleep()
	}
	return l
}

func (w *Watcher) run() {
	defer close(w.done)
	tick := time.NewTicker(wakeEvery)
	defer tick.Stop()
	last := w.look()
	// gap is the longest gap within signalDelay; a SIGCONT makes it a pause. On a busy
	// machine a shorter gap may lie between a pause and its SIGCONT.
	var gap export.Pause
	for quit := false; !quit; {
		select {
		case <-tick.C:
		case <-w.quit:
			quit = true
		}
		now := w.look()
		if d := now.asleep - last.asleep; d >= shortest {
			w.add(export.Pause{StartNS: last.ns, EndNS: now.ns, DurationNS: int64(d), Cause: export.PauseSuspended})
		}
		d := now.ns - last.ns
		if old := now.ns-gap.EndNS > uint64(signalDelay); d >= uint64(shortest) && (old || int64(d) >= gap.DurationNS) {
			gap = export.Pause{StartNS: last.ns, EndNS: now.ns, DurationNS: int64(d), Cause: export.PauseStopped}
		}
		if now.continued != last.continued && gap.DurationNS > 0 && now.ns-gap.EndNS <= uint64(signalDelay) {
			w.add(gap)
			gap = export.Pause{}
		}
		last = now
	}
}

func (w *Watcher) add(p export.Pause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses = append(w.pauses, p)
}
