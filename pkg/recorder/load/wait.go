package load

import "time"

const (
	// coarse is the time before an instant at which Wait stops using a timer, because
	// Go's timers may fire a millisecond late.
	coarse = 2 * time.Millisecond
	// spin is the time before an instant at which Wait stops sleeping in the kernel,
	// which wakes a thread some tens of microseconds late.
	spin = 60 * time.Microsecond
)

// Wait waits for an instant, which must have a monotonic reading. It returns at once when
// the instant has passed. It returns false if done is closed first; in the last 2 ms
// (coarse) it does not check done.
//
// Wait calls near, unless it is nil, once before it returns true, and never before it
// returns false. The thread has then woken up for the last time, some tens of microseconds
// before the instant. Short work that cannot wait longer disturbs the schedule least there;
// a near that takes longer makes Wait late.
//
// Wait is exact to about a microsecond on a machine with an idle core. It waits with a
// timer, then in the kernel, and keeps the core busy for the last spin. This bounds its
// cost: 2,000 requests a second spin for at most an eighth of a core's time.
func Wait(until time.Time, done <-chan struct{}, near func()) bool {
	if d := time.Until(until); d > coarse {
		if !WaitTimer(until.Add(-coarse), done) {
			return false
		}
	} else if IsClosed(done) {
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

// WaitTimer waits like Wait, but with only a timer. It is up to a millisecond late and
// costs no CPU time.
func WaitTimer(until time.Time, done <-chan struct{}) bool {
	d := time.Until(until)
	if d <= 0 {
		return !IsClosed(done)
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

// IsClosed reports whether done is closed. A nil channel is not.
func IsClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
