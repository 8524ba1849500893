// Package rxclock is the clock of a run: every time stamp of an export is in
// Unix-epoch nanoseconds of one Clock.
//
// A [Clock] reads the wall clock once, when it is made, and counts on with the
// monotonic clock, so that a step of the wall clock during the run moves no
// latency.
//
//	clock := rxclock.New()
//	var drift rxclock.Drift
//	go clock.Watch(ctx, time.Second, &drift) // the run waits for it
//	…
//	recvNS := clock.FromWall(stamp.NS) // right after the read
//	…
//	steps := drift.Steps()
//
// # Kernel stamps
//
// The kernel stamps packets with the wall clock, CLOCK_REALTIME. [Clock.FromWall]
// puts a stamp that was just taken on the clock of the run, with the offset of the
// two at present,
//
//	offset = run's clock now − wall clock now
//
// The offset is 0 when the clock is made. It changes when the wall clock is slewed or
// set. ([Sample.OffsetNS] has the other sign.)
//
// # Steps
//
// A clock that is disciplined is slewed: it runs faster or slower, by 500 parts
// per million at most with the kernel's own discipline. Linux slews both clocks
// alike, so that the offset does not move at all; elsewhere it does. When it moves
// by more than that rate explains and 1 ms, somebody has set the clock: a step, at
// an unknown moment between two samples of [Clock.Watch]. A stamp that was taken
// before a step and put on the run's clock after it is off by the step.
//
// Leap seconds (unless smeared, then they are slewing) and a machine that was
// suspended look like steps as well.
package rxclock
