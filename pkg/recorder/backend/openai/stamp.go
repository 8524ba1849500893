package openai

import (
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A stamp is an instant of the run's clock with its source.
type stamp struct {
	ns     uint64
	source export.StampSource
}

// onClock converts a socket's stamp to the run's clock.
func onClock(clock *rxclock.Clock, s sockstamp.Stamp) stamp {
	return stamp{clock.FromWall(s.NS), export.StampSource(s.Source)}
}

// nowOn returns the present time, for bytes whose read is unknown.
func nowOn(clock *rxclock.Clock) stamp { return stamp{clock.NowNS(), export.SourceUser} }

// requestOnClock converts the stamps of a request's first and last write to the run's
// clock. It keeps their order even if the offset of the clocks has just changed.
func requestOnClock(clock *rxclock.Clock, first, last sockstamp.Stamp) (start, sent stamp) {
	start, sent = onClock(clock, first), onClock(clock, last)
	if first.NS <= last.NS {
		sent.ns = max(sent.ns, start.ns)
	}
	return start, sent
}
