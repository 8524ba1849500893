package evloop

import "time"

// A gather decides by the rate of events whether readiness should gather. A gather with
// only its span set is ready for use and off.
type gather struct {
	span time.Duration // gathering time

	last   time.Time
	events float64 // events between two calls, smoothed
	nanos  float64 // time between two calls, smoothed likewise
	on     bool
}

const (
	// gatherFrom and gatherUntil are the numbers of expected events in span from which
	// gathering starts, and below which it stops. A wake-up costs about as much as three
	// reads, so waiting for less than two events does not pay.
	gatherFrom  = 2.0
	gatherUntil = 1.0
	// smoothing is the weight of the past.
	smoothing = 15.0 / 16
)

// update adds events that were handled and reports whether the next ones should gather.
// Both means are smoothed in the same way, so that their ratio is a mean rate: a mean of
// rates would give short spans too much weight.
func (g *gather) update(events int, now time.Time) bool {
	if !g.last.IsZero() {
		g.events = g.events*smoothing + float64(events)
		g.nanos = g.nanos*smoothing + float64(now.Sub(g.last))
	}
	g.last = now
	expected := g.events * float64(g.span)
	if g.on {
		g.on = expected >= gatherUntil*g.nanos
	} else {
		g.on = expected >= gatherFrom*g.nanos && g.nanos > 0
	}
	return g.on
}
