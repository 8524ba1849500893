package recorder

import (
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

const (
	// pauseWakeEvery is the time between two readings of the clocks.
	pauseWakeEvery = 20 * time.Millisecond
	// shortestPause is the least length of a pause. It exceeds the time between wake-ups
	// of a process that has enough CPU time.
	shortestPause = 50 * time.Millisecond
	// signalDelay is the longest time from a gap to its SIGCONT: the Go runtime
	// delivers signals through a goroutine, which a busy machine delays.
	signalDelay = time.Second
)

// A waker wakes a pauseWatch periodically.
type waker interface {
	// wait waits for the next wake-up. It returns false after stop.
	wait() bool
	// stop ends the wake-ups; wait may be in progress. It is called once.
	stop()
}

// tickWaker is a waker with a timer of Go.
type tickWaker struct {
	tick *time.Ticker
	quit chan struct{}
}

func newTickWaker(every time.Duration) waker {
	return &tickWaker{time.NewTicker(every), make(chan struct{})}
}

func (w *tickWaker) wait() bool {
	select {
	case <-w.tick.C:
		return true
	case <-w.quit:
		return false
	}
}

func (w *tickWaker) stop() {
	w.tick.Stop()
	close(w.quit)
}

// pauseSources are the clocks and the counter that a pauseWatch reads, and what wakes it.
type pauseSources struct {
	// nowNS is the clock of the run, which stands still in a suspended machine.
	nowNS func() uint64
	// asleep returns how long the machine has been suspended since it was started;
	// nil where that cannot be known.
	asleep func() time.Duration
	// continued returns the number of SIGCONT signals so far.
	continued func() uint64
	wake      waker
}

// A pauseWatch finds the pauses of this process: times in which it could not run
// because it was stopped (Ctrl-Z, SIGSTOP) or because the machine was suspended.
// Requests in flight during a pause have latencies that say nothing about the server.
// Its methods may be called from any goroutine.
//
// A pauseWatch wakes every 20 ms. A late wake-up alone proves nothing: another process
// or a garbage collection may occupy the processors. So each kind of pause needs a
// second sign.
//
//   - Only SIGCONT continues a stopped process. A gap between two wake-ups is a pause
//     if a SIGCONT ends it; without a SIGCONT it is not, however long. A SIGCONT
//     without a gap is no pause either, because a running process may get one.
//   - While the machine is suspended, CLOCK_BOOTTIME goes on, and CLOCK_MONOTONIC,
//     on which the clock of a run is based, stands still. The growth of their
//     difference is the length of the suspension.
//
// A recorded pause begins at the last wake-up before it. So it may be up to 20 ms too
// long (more if the machine was busy when it began), but misses no request that it
// touched. Pauses under 50 ms are not reported. A pauseWatch notices suspension on
// Linux, and stops on all systems with signals. A frozen container (docker pause)
// gets no signal, so a pauseWatch does not notice it.
type pauseWatch struct {
	pauseSources
	done chan struct{}

	mu     sync.Mutex
	pauses []export.Pause
}

// startPauseWatch starts a pauseWatch. nowNS is the clock of the recorded times; it must advance
// with the monotonic clock. Stop ends the pauseWatch.
func startPauseWatch(nowNS func() uint64) *pauseWatch {
	return newPauseWatch(pauseSources{nowNS: nowNS, asleep: machineAsleep, continued: continued, wake: newWaker(pauseWakeEvery)})
}

func newPauseWatch(s pauseSources) *pauseWatch {
	w := &pauseWatch{pauseSources: s, done: make(chan struct{})}
	go w.run() // ends with Stop
	return w
}

// Stop ends the pauseWatch and returns all pauses, in the order of their ends. Call it
// once.
func (w *pauseWatch) Stop() []export.Pause {
	w.wake.stop()
	<-w.done
	return w.Pauses()
}

// Pauses returns the pauses so far.
func (w *pauseWatch) Pauses() []export.Pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pauses)
}

// pauseReadings holds the readings of one wake-up.
type pauseReadings struct {
	ns        uint64
	asleep    time.Duration
	continued uint64
}

func (w *pauseWatch) look() pauseReadings {
	// The signals come first: the process may be stopped between the readings, and a
	// SIGCONT that is seen before its gap would not be taken for the end of it.
	l := pauseReadings{continued: w.continued()}
	l.ns = w.nowNS()
	if w.asleep != nil {
		l.asleep = w.asleep()
	}
	return l
}

func (w *pauseWatch) run() {
	defer close(w.done)
	last := w.look()
	// gap is the longest gap within signalDelay; a SIGCONT makes it a pause. On a busy
	// machine a shorter gap may lie between a pause and its SIGCONT.
	var gap export.Pause
	for more := true; more; {
		more = w.wake.wait()
		now := w.look()
		if d := now.asleep - last.asleep; d >= shortestPause {
			w.add(export.Pause{StartNS: last.ns, EndNS: now.ns, DurationNS: int64(d), Cause: export.PauseSuspended})
		}
		d := now.ns - last.ns
		if old := now.ns-gap.EndNS > uint64(signalDelay); d >= uint64(shortestPause) && (old || int64(d) >= gap.DurationNS) {
			gap = export.Pause{StartNS: last.ns, EndNS: now.ns, DurationNS: int64(d), Cause: export.PauseStopped}
		}
		if now.continued != last.continued && gap.DurationNS > 0 && now.ns-gap.EndNS <= uint64(signalDelay) {
			w.add(gap)
			gap = export.Pause{}
		}
		last = now
	}
}

func (w *pauseWatch) add(p export.Pause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses = append(w.pauses, p)
}
