package rxclock

import (
	"sync/atomic"
	"time"
)

// A Clock is the clock of one run. It is safe for concurrent use. Use New.
type Clock struct {
	base   time.Time // has a monotonic reading
	baseNS uint64

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
