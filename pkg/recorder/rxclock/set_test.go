package rxclock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A clock that sees the wall clock being set reports a step of that size, keeps its own time,
// and converts stamps from before and after the step.
func TestSet(t *testing.T) {
	for _, by := range []time.Duration{2 * time.Second, -2 * time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := NewSet(time.Second, by)
			var d Drift
			sample := func() {
				d.Add(c.sample())
				now := uint64(time.Now().UnixNano())
				if got := c.NowNS(); got != now {
					t.Errorf("set by %v: the run's clock is off by %d", by, int64(got-now))
				}
				if got := c.FromWall(now); got != now {
					t.Errorf("set by %v: a stamp of this instant is off by %d", by, int64(got-now))
				}
			}
			sample()
			time.Sleep(999 * time.Millisecond)
			sample()
			time.Sleep(2 * time.Millisecond)
			sample()
			time.Sleep(time.Second)
			sample()
			steps := d.Steps()
			if by == 0 && len(steps) > 0 || by != 0 && (len(steps) != 1 || steps[0].SizeNS != int64(by) || steps[0].BeforeNS-steps[0].AfterNS != 2_000_000) {
				t.Errorf("set by %v: steps %+v", by, steps)
			}
			// A stamp from before the step that is converted after it is off by the step.
			before := uint64(time.Now().Add(-1500 * time.Millisecond).UnixNano())
			if got := int64(c.FromWall(before) - before); got != -int64(by) {
				t.Errorf("set by %v: a stamp from before is off by %d, want %d", by, got, -int64(by))
			}
		})
	}
}
