package ranks

import (
	"github.com/pa-tools/pa/pkg/export"
)

// A Clock is the clock of a rank, in Unix nanoseconds. The clock of package rxclock is one.
type Clock interface{ NowNS() uint64 }

// exchanges is the number of exchanges of a comparison of two clocks. Each exchange
// makes it more likely that one of them met no queue.
const exchanges = 20

// An exchange is four instants: sent and received on the clock of this rank, received
// and answered on the clock of rank 0.
type exchange struct{ t0, t1, t2, t3 uint64 }

// roundTrip returns the time that the two messages were on the way.
func (e exchange) roundTrip() int64 { return int64(e.t3-e.t0) - int64(e.t2-e.t1) }

// bestOffset returns the offset of the exchange with the shortest round trip. It ignores
// exchanges in which a clock went back, and returns nil if none is left.
func bestOffset(all []exchange) *export.ClockOffset {
	var best *exchange
	for i := range all {
		e := &all[i]
		if e.t3 < e.t0 || e.t2 < e.t1 || e.roundTrip() < 0 {
			continue
		}
		if best == nil || e.roundTrip() < best.roundTrip() {
			best = e
		}
	}
	if best == nil {
		return nil
	}
	// The bound is half of the round trip and half a nanosecond, by which the division can cut the
	// offset, rounded up.
	return &export.ClockOffset{
		OffsetNS: (int64(best.t1-best.t0) + int64(best.t2-best.t3)) / 2,
		BoundNS:  (best.roundTrip() + 2) / 2,
		AtNS:     best.t3, Exchanges: len(all),
	}
}
