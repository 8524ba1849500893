package rxclock

import (
	"sync/atomic"
	"time"
)

// A Clock is the clock of one run. It is safe for concurrent use. Use New.
type Clock struct {
	base   time.Time // has a monotonic reading
	baseNS uint64
	step   *wallStep // nil: the wall clock is the machine's

	lastOffset atomic.Int64 // last result of wallOffset
}

// New returns a clock that starts at the wall clock's present time.
func New() *Clock {
	c := anchoredAt(time.Now())
	for range readings - 1 {
		if t := time.Now(); c.offsetAt(t) < 0 {
			c = anchoredAt(t) // the anchor was the worse reading
		}
	}
	return c
}

func anchoredAt(t time.Time) *Clock { return &Clock{base: t, baseNS: uint64(t.UnixNano())} }

// NowNS returns the present instant in Unix nanoseconds. It never goes back.
func (c *Clock) NowNS() uint64 {
	return c.baseNS + uint64(time.Since(c.base))
}

// NS converts an instant with a monotonic reading (from time.Now) to Unix nanoseconds of
// the clock. The zero time gives 0.
func (c *Clock) NS(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return c.baseNS + uint64(t.Sub(c.base))
}

// Time is the inverse of NS: it returns the instant, with a monotonic reading, at which
// the clock shows ns.
func (c *Clock) Time(ns uint64) time.Time { return c.base.Add(time.Duration(ns - c.baseNS)) }

// NewAhead returns a clock that is ahead of the wall clock by d, or behind it for a
// negative d, as the clock of another machine may be. It is for tests of runs on several
// machines.
func NewAhead(d time.Duration) *Clock {
	c := New()
	c.baseNS += uint64(d)
	return c
}

// A wallStep is a step of the wall clock in a test: after an instant the clock shows another time.
type wallStep struct {
	afterNS uint64 // Unix nanoseconds of the machine's wall clock
	byNS    int64
}

// NewSet returns a clock for tests that sees the wall clock being set by d, forward or for a
// negative d back, when the time after has passed. The machine's wall clock stays as it is.
// FromWall takes stamps of the machine's wall clock, and treats them as stamps of the clock
// that is set.
func NewSet(after, d time.Duration) *Clock {
	c := New()
	c.step = &wallStep{afterNS: c.baseNS + uint64(after), byNS: int64(d)}
	return c
}

// wall returns the time of the wall clock when the machine's shows ns.
func (c *Clock) wall(ns uint64) uint64 {
	if c.step == nil || ns < c.step.afterNS {
		return ns
	}
	return ns + uint64(c.step.byNS)
}
