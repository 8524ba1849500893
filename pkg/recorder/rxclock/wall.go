package rxclock

import "time"

// FromWall converts an instant of CLOCK_REALTIME (Unix nanoseconds), such as a kernel
// stamp, to the run's clock. 0 stays 0.
//
// It adds the present offset of the two clocks,
//
//	offset = run's clock now − wall clock now
//
// so only slewing and steps between ns and the call make the result wrong: at 500 ppm, the
// fastest slewing of NTP, half a microsecond for an instant one millisecond ago. Call it
// soon.
func (c *Clock) FromWall(ns uint64) uint64 {
	if ns == 0 {
		return 0
	}
	return c.wall(ns) + uint64(c.wallOffset()) // wraps around for a negative offset, as it should
}

// steadyNS is the largest change of the measured offset that counts as no change. Readings
// scatter by some tens of ns; without this limit, two stamps of the same instant would
// differ.
const steadyNS = 500

// readings is the number of readings of both clocks where one reading may be wrong.
const readings = 5

// wallOffset returns run's clock − wall clock, in ns. It returns the last offset unless
// the offset has changed by more than steadyNS.
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

// offsetAt returns run's clock − wall clock from the two readings in t. Package time reads
// the wall clock first. A thread that is interrupted between the readings, for some µs or
// for ms, makes the difference too large, never too small. So the smallest of a few
// readings is the best one.
func (c *Clock) offsetAt(t time.Time) int64 { return int64(c.NS(t) - c.wall(uint64(t.UnixNano()))) }
