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

// readings is how often both clocks are read where one reading may mislead.
const readings = 5

// wallOffset returns run's clock − wall clock, in ns: what it was, unless it has
// moved.
func (c *Clock) wallOffset() int64 {
	last := c.lastOffset.Load()
	off := c.offsetAt(time.Now())
	for range readings - 1 {
		if near(off, last) {
			return last
		}
		off = min(off, c.offsetAt(time.Now()))
	}
	if near(off, last) {
		return last
	}
	c.lastOffset.Store(off)
	return off
}

func near(a, b int64) bool { return a-b <= steadyNS && b-a <= steadyNS }

// offsetAt returns run's clock − wall clock as t has them. Package time reads the
// wall clock first. A thread that is kept from running between its two readings,
// for some µs or for ms, makes the difference too large, never too small: the
// least of a few readings is the best one.
func (c *Clock) offsetAt(t time.Time) int64 { return int64(c.NS(t)) - t.UnixNano() }
