// Package rxclock is the clock of a run: every time stamp of an export comes
// from one Clock, as Unix-epoch nanoseconds.
//
// A Clock reads the wall clock once and counts on with the monotonic clock, so
// that a step of the wall clock during the run moves no latency. Stamps are
// taken in user space, right after the read that delivered the bytes.
package rxclock
