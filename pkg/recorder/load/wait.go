package load

import "time"

const (
	// coarse is how long before an instant a timer is no longer good enough: Go's
	// may fire a millisecond late.
	coarse = 2 * time.Millisecond
	// spin is how long before an instant even the kernel's clock is not, by which
	// a thread wakes up some tens of microseconds late.
	spin = 60 * time.Microsecond
)

// Wait waits for an instant, which must have a monotonic reading, and reports
// whether that was not cut short by done being closed. It returns at once when
// the instant is over. In the last coarse it does not look at done.
//
// near, unless it is nil, is called once before Wait returns true: when the thread
// has woken up for the last time before the instant, some tens of microseconds
// ahead, which is when what must be done soon, but not then, disturbs least. It
// makes Wait late if it takes longer than that. Where the wait is cut short it may
// not be called.
//
// It is exact to about a microsecond on a machine that has a core to spare: it
// waits by a timer first, then in the kernel, and for the last spin, in every
// call anew, it keeps the core busy. That is what bounds its cost: 2 000 requests
// a second spin for an eighth of a core's time at most.
func Wait(until time.Time, done <-chan struct{}, near func()) bool {
	if d := time.Until(until); d > coarse {
		if !WaitTimer(until.Add(-coarse), done) {
			return false
		}
	} else if isClosed(done) {
		return false
	}
	for d := time.Until(until); d > spin; d = time.Until(until) {
		sleep(d - spin)
	}
	if near != nil {
		near()
	}
	for time.Until(until) > 0 {
	}
	return true
}

// WaitTimer is Wait by a timer alone: up to a millisecond late, and free of
// charge.
func WaitTimer(until time.Time, done <-chan struct{}) bool {
	d := time.Until(until)
	if d <= 0 {
		return !isClosed(done)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
		return false
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
