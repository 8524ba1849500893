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
	waited bool // see [sockstamp.Stamp.Waited]
}

// onClock converts a socket's stamp to the run's clock.
func onClock(clock *rxclock.Clock, s sockstamp.Stamp) stamp {
	return stamp{clock.FromWall(s.NS), export.StampSource(s.Source), s.Waited}
}

// nowOn returns the present time, for bytes whose read is unknown.
func nowOn(clock *rxclock.Clock) stamp { return stamp{ns: clock.NowNS(), source: export.SourceUser} }

// A revision replaces the stamp of a read of an answer.
type revision struct {
	read uint32 // number of the read
	at   stamp
}

// A revisedConn is a connection with stamps of reads that may be replaced; see
// [sockstamp.Conn.Revised].
type revisedConn interface {
	Revised(ordinal uint64) []sockstamp.Stamp
}

// revisions returns the revised stamps of the reads after the read with ordinal begun, the
// last one before the answer.
func revisions(clock *rxclock.Clock, conn revisedConn, begun uint64) []revision {
	var all []revision
	for _, st := range conn.Revised(begun) {
		all = append(all, revision{uint32(st.Ordinal - begun - 1), onClock(clock, st)})
	}
	return all
}

// requestOnClock converts the stamps of a request's first and last write to the run's
// clock. It keeps their order even if the offset of the clocks has just changed.
func requestOnClock(clock *rxclock.Clock, first, last sockstamp.Stamp) (start, sent stamp) {
	start, sent = onClock(clock, first), onClock(clock, last)
	if first.NS <= last.NS {
		sent.ns = max(sent.ns, start.ns)
	}
	return start, sent
}
