package signals

import (
	"os"
	"sync"
)

// A Relay passes the signals of the process to the stage that claimed them. It is safe
// for concurrent use.
type Relay struct {
	// Unclaimed gets the signals that no stage claimed. It has room for one.
	Unclaimed <-chan os.Signal

	unclaimed chan os.Signal
	stop      chan struct{}

	mu      sync.Mutex
	claimed chan os.Signal // nil: no stage has claimed signals
	latest  os.Signal
}

// NewRelay starts a relay, which calls seen after each signal. Close ends it.
func NewRelay(signals <-chan os.Signal, seen func()) *Relay {
	r := &Relay{unclaimed: make(chan os.Signal, 1), stop: make(chan struct{})}
	r.Unclaimed = r.unclaimed
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
func (r *Relay) Close() { close(r.stop) }

// hand passes a signal to the stage that handles it. Like the operating system, it
// drops signals that come faster than they are handled.
func (r *Relay) hand(sig os.Signal) {
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
