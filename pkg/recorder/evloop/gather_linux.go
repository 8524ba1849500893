package evloop

import "time"

// A gather decides whether it is worthwhile to let readiness gather. The zero
// value, with its span, begins with no.
type gather struct {
	span time.Duration // for which it gathers

	last   time.Time
	events float64 // since the last time, smoothed
	nanos  float64 // that went by, smoothed likewise
	on     bool
}

const (
	// gatherFrom and gatherUntil are how many events must be expected in span
	// so that gathering begins, and ends. A wake-up costs about as much as
	// three reads, so it does not pay to wait for less than two events.
	gatherFrom  = 2.0
	gatherUntil = 1.0
	// smoothing is the weight of what was before.
	smoothing = 15.0 / 16
)

// more notes that some events were served and reports whether the next ones
// should gather. Both means are smoothed the same way, so that their ratio is a
// mean rate: the mean of rates would count short spans for too much.
func (g *gather) more(events int, now time.Time) bool {
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
