package dataset

import (
	"fmt"
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// mostTime bounds the times and delays of the data: 146 years, so that two of them can be added.
const mostTime = time.Duration(math.MaxInt64 / 2)

// duration returns n units. It returns an error for a negative or too large n.
func duration(n float64, unit time.Duration) (time.Duration, error) {
	ns := math.Round(n * float64(unit))
	if !(ns >= 0 && ns < float64(mostTime)) {
		return 0, fmt.Errorf("%v × %v: must be from 0 to %v", n, unit, mostTime)
	}
	return time.Duration(ns), nil
}

// sum returns a + b, neither of them more than mostTime, and not more than that.
func sum(a, b time.Duration) time.Duration { return min(a+b, mostTime) }

// between returns the time from a to b; 0 if b is earlier, and at most mostTime.
func between(a, b time.Time) time.Duration { return min(max(0, b.Sub(a)), mostTime) }

// A window is the selected part of a recorded schedule. A to of 0 means the end of the
// schedule.
type window struct{ from, to time.Duration }

// shift makes the offset of e relative to the window. It returns false if e is outside. An
// entry without a time is always inside.
func (w window) shift(e *workload.Entry) bool {
	if !e.Timed {
		return true
	}
	if e.Offset < w.from || w.to > 0 && e.Offset >= w.to {
		return false
	}
	e.Offset -= w.from
	return true
}

// shiftSession is shift for a session: its requests are inside if it begins there.
func (w window) shiftSession(s *workload.Session) bool {
	e := workload.Entry{Timed: s.Timed, Offset: s.Offset}
	inside := w.shift(&e)
	s.Offset = e.Offset
	return inside
}
