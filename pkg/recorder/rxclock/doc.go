// Package rxclock is the clock of a run: every time stamp of an export comes
// from one Clock, as Unix-epoch nanoseconds.
//
// A Clock reads the wall clock once and counts on with the monotonic clock, so
// that a step of the wall clock during the run moves no latency. Stamps that the
// kernel took are times of the wall clock; FromWall puts them on the run's.
package rxclock
