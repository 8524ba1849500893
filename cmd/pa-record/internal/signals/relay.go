package signals

import (
	"os"
	"sync"
	"time"
)

// endAfter is how long after the second signal a stage that claimed the signals may take to
// end. The program then has the rest of a second to print what it has to say.
const endAfter = 600 * time.Millisecond

// A Relay passes the signals of the process to the stage that claimed them. It is safe
// for concurrent use.
type Relay struct {
	// Unclaimed gets the signals that no stage claimed. It has room for one.
	Unclaimed <-chan os.Signal
	// Overdue is closed when the program must end although the stage that claimed the signals
	// has not: it got two, and may wait for a disk, a pipe or a server that never answers.
	Overdue <-chan struct{}

	unclaimed chan os.Signal
	overdue   chan struct{}
	stop      chan struct{}

	mu      sync.Mutex
	claimed chan os.Signal // nil: no stage has claimed signals
	got     int            // number of signals for a stage that claimed them
	ending  *time.Timer    // closes overdue; nil before the second signal
	latest  os.Signal
}

// NewRelay starts a relay, which calls seen after each signal. Close ends it.
func NewRelay(signals <-chan os.Signal, seen func()) *Relay {
	r := &Relay{unclaimed: make(chan os.Signal, 1), overdue: make(chan struct{}), stop: make(chan struct{})}
	r.Unclaimed, r.Overdue = r.unclaimed, r.overdue
	go func() { // ends with stop
		for {
			select {
			case sig := <-signals:
				r.hand(sig)
				seen()
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

// Close ends the relay. It must be called once.
func (r *Relay) Close() {
	close(r.stop)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending != nil {
		r.ending.Stop()
	}
}

// hand passes a signal to the stage that handles it. Like the operating system, it
// drops signals that come faster than they are handled.
func (r *Relay) hand(sig os.Signal) {
	r.mu.Lock()
	to := r.claimed
	r.latest = sig
	if to != nil {
		r.got++
	}
	if r.got > 1 && r.ending == nil {
		r.ending = time.AfterFunc(endAfter, func() { close(r.overdue) })
	}
	r.mu.Unlock()
	if to == nil {
		to = r.unclaimed
	}
	select {
	case to <- sig:
	default:
	}
}

// Claim returns a channel that gets the signals until release is called.
func (r *Relay) Claim() (signals <-chan os.Signal, release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan os.Signal, 2)
	r.claimed = c
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claimed = nil
	}
}

// Last returns the latest signal, nil if there was none.
func (r *Relay) Last() os.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}
