package evloop

import "time"

// A gather decides by the rate of events for how long readiness should gather. The zero
// value is ready for use and off.
type gather struct {
	events float64 // events between two calls, smoothed
	nanos  float64 // time between two calls, smoothed likewise
	last   time.Time
	span   time.Duration // gathering time; 0: off
}

const (
	// shortGather and longGather are the gathering times for many events and for few. The
	// longer one makes a wake-up serve several streams when these are few and slow.
	shortGather = time.Millisecond
	longGather  = 2 * time.Millisecond
	// gatherFrom and gatherUntil are the numbers of expected events in longGather from
	// which gathering starts, and below which it stops. A wake-up costs about as much as
	// three reads, so waiting for less than two events does not pay.
	gatherFrom  = 2.0
	gatherUntil = 1.0
	// manyEvents is the number of expected events in shortGather from which it suffices.
	manyEvents = 8.0
	// smoothing is the weight of the past.
	smoothing = 15.0 / 16
)

// update adds events that were handled and returns the gathering time for the next ones.
// Both means are smoothed in the same way, so that their ratio is a mean rate: a mean of
// rates would give short spans too much weight.
func (g *gather) update(events int, now time.Time) time.Duration {
	if !g.last.IsZero() {
		g.events = g.events*smoothing + float64(events)
		g.nanos = g.nanos*smoothing + float64(now.Sub(g.last))
	}
	g.last = now
	least := gatherFrom
	if g.span > 0 {
		least = gatherUntil
	}
	switch {
	case g.nanos == 0 || g.events*float64(longGather) < least*g.nanos:
		g.span = 0
	case g.events*float64(shortGather) < manyEvents*g.nanos:
		g.span = longGather
	default:
		g.span = shortGather
	}
	return g.span
}
