package main

import (
	"os"
	"sync"
	"time"
)

// abandonAfter is how long after a signal pa-record waits for a stage that handles
// no signals itself. A stage that reads a pipe or a terminal cannot be cancelled;
// the program then ends without it.
const abandonAfter = 500 * time.Millisecond

// A signalRelay passes the signals of the process to the stage that claimed them. A
// signal that no stage claimed ends the program.
type signalRelay struct {
	unclaimed chan os.Signal // room for one
	stop      chan struct{}

	mu      sync.Mutex
	claimed chan os.Signal // nil: no stage has claimed signals
	latest  os.Signal
}

// relaySignals starts a relay, which calls seen after each signal. The relay ends
// when its stop is closed.
func relaySignals(signals <-chan os.Signal, seen func()) *signalRelay {
	r := &signalRelay{unclaimed: make(chan os.Signal, 1), stop: make(chan struct{})}
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

// hand passes a signal to the stage that handles it. Like the operating system, it
// drops signals that come faster than they are handled.
func (r *signalRelay) hand(sig os.Signal) {
	r.mu.Lock()
	to := r.claimed
	r.latest = sig
	r.mu.Unlock()
	if to == nil {
		to = r.unclaimed
	}
	select {
	case to <- sig:
	default:
	}
}

// claim returns a channel that gets the signals until release is called.
func (r *signalRelay) claim() (signals <-chan os.Signal, release func()) {
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

// last returns the latest signal, nil if there was none.
func (r *signalRelay) last() os.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}
