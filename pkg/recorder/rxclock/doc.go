// Package rxclock provides the clock of a run. All times in an export are Unix nanoseconds
// of one Clock.
//
// A [Clock] reads the wall clock once, in New, and continues with the monotonic clock. So a
// step of the wall clock during the run changes no latency.
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
// The kernel stamps packets with the wall clock, CLOCK_REALTIME. [Clock.FromWall] converts
// a stamp that was just taken to the clock of the run, with the present offset:
//
//	offset = run's clock now − wall clock now
//
// The offset is 0 in New. It changes when the wall clock is slewed or set.
// ([Sample.OffsetNS] has the other sign.)
//
// # Steps
//
// A time daemon slews the wall clock: it makes it run faster or slower, by at most 500
// parts per million with the kernel's own discipline. Linux slews the monotonic clock
// alike, so that the offset does not change; on other systems it does. A larger change,
// beyond 1 ms, is a step: the clock was set at an unknown moment between two samples of
// [Clock.Watch]. A stamp that was taken before a step and converted after it is wrong by
// the size of the step.
//
// Leap seconds (unless they are smeared, which is slewing) and suspensions of the machine
// look like steps as well.
package rxclock
