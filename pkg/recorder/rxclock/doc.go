// Package rxclock is the clock of a run: every time stamp of an export is in
// Unix-epoch nanoseconds of one Clock.
//
// A [Clock] reads the wall clock once, when it is made, and counts on with the
// monotonic clock, so that a step of the wall clock during the run moves no
// latency.
//
//	clock := rxclock.New()
//	drift := rxclock.NewDrift()
//	go clock.Watch(ctx, time.Second, drift) // the run waits for it
//	…
//	recv, ok := drift.RunNS(stamp.NS, issued, clock.NowNS())
//
// # Kernel stamps
//
// The kernel stamps packets with the wall clock, CLOCK_REALTIME. [Clock.FromWall]
// puts a stamp that was just taken on the clock of the run, with the offset of the
// two at present. What is put there later, or checked against the whole run, needs
// the offset of then. That offset,
//
//	offset(r) = wall clock at r − r
//
// for an instant r of the run's clock, is 0 when the clock is made, and equals
// CLOCK_REALTIME − CLOCK_MONOTONIC less what that was then. A [Drift] is samples of
// it, and brings a stamp w of the wall clock to the clock of the run: it is the r
// with
//
//	r + offset(r) = w
//
// where offset is interpolated between two samples i and j = i + 1, and constant
// before the first and after the last:
//
//	offset(r) = oᵢ + (oⱼ − oᵢ) · (r − rᵢ) / (rⱼ − rᵢ)
//	⇒ r = w − oᵢ − (oⱼ − oᵢ) · (w − rᵢ − oᵢ) / (rⱼ − rᵢ + oⱼ − oᵢ)
//
// # Steps
//
// A clock that is disciplined is slewed: it runs faster or slower, by 500 parts
// per million at most with the kernel's own discipline. Linux slews both clocks
// alike, so that the offset does not move at all; elsewhere it does. When it moves
// by more than that rate explains and 1 ms, somebody has set the clock: a step, at
// an unknown moment between the two samples. Stamps from before it have the
// offset of the first sample, those after it that of the second; the bounds that a
// caller knows for a stamp tell which it was. If they do not, the stamp is
// doubtful.
//
// Leap seconds (unless smeared, then they are slewing) and a machine that was
// suspended look like steps as well.
package rxclock
