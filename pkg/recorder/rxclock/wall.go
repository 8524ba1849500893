package rxclock

import "time"

// FromWall converts an instant of CLOCK_REALTIME (Unix nanoseconds), such as a
// stamp that the kernel took, to the run's clock. 0 stays 0.
//
// It adds the present difference of the two clocks,
//
//	offset = run's clock now − wall clock now
//
// so what the wall clock was slewed or stepped since the run began does not
// count, only what happened between ns and the call: at the 500 ppm that NTP
// may slew, half a microsecond for an instant one millisecond ago. Call it soon.
func (c *Clock) FromWall(ns uint64) uint64 {
	if ns == 0 {
		return 0
	}
	return ns + uint64(c.wallOffset()) // wraps around for a negative offset, as it should
}

// steadyNS is how far the offset may seem to have moved before the move is
// believed. Readings scatter by some tens of ns; without this, two stamps of the
// same instant would differ.
const steadyNS = 500

// wallOffset returns run's clock − wall clock, in ns. One reading may be off by
// as long as this thread was kept from running between the readings of the two
// clocks, so a small move is believed only if three readings in a row agree on
// it; a step of the clock is far larger than what they may be off by.
func (c *Clock) wallOffset() int64 {
	last := c.lastOffset.Load()
	off := c.readOffset()
	if near(off, last) {
		return last
	}
	a, b := c.readOffset(), c.readOffset()
	mid := max(min(off, a), min(max(off, a), b)) // the median
	agree := near(off, a) && near(a, b) && near(off, b)
	moved := mid - last
	if near(mid, last) || !agree && moved < minStepNS && moved > -minStepNS {
		return last
	}
	c.lastOffset.Store(mid)
	return mid
}

func near(a, b int64) bool { return a-b <= steadyNS && b-a <= steadyNS }

func (c *Clock) readOffset() int64 {
	now := time.Now() // reads both clocks
	return int64(c.NS(now)) - now.UnixNano()
}
