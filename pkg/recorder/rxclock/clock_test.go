package rxclock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		start := time.Now()
		if got, want := c.NowNS(), uint64(start.UnixNano()); got != want {
			t.Errorf("NowNS at the start = %d, want the wall clock's %d", got, want)
		}
		time.Sleep(time.Second)
		if got, want := c.NowNS(), uint64(start.UnixNano())+1e9; got != want {
			t.Errorf("NowNS after 1s = %d, want %d", got, want)
		}
		if got, want := c.NS(start.Add(time.Millisecond)), uint64(start.UnixNano())+1e6; got != want {
			t.Errorf("NS = %d, want %d", got, want)
		}
		if got := c.NS(time.Time{}); got != 0 {
			t.Errorf("NS of the zero time = %d, want 0", got)
		}
		if got := c.FromWall(0); got != 0 {
			t.Errorf("FromWall(0) = %d, want 0", got)
		}
		if got, want := c.FromWall(uint64(time.Now().UnixNano())-500), c.NowNS()-500; got != want {
			t.Errorf("FromWall of 500ns ago = %d, want %d", got, want)
		}
	})
}

// A wall clock that was set since the run began does not move converted stamps.
func TestFromWallAfterStep(t *testing.T) {
	const step = 3_600_000_000_000
	c := New()
	c.baseNS -= step // as if the wall clock had been an hour behind at the start
	before := c.NowNS()
	got := c.FromWall(uint64(time.Now().UnixNano()))
	if after := c.NowNS(); got < before || got > after {
		t.Errorf("FromWall(now) = %d, not between %d and %d of the run's clock", got, before, after)
	}
}

// A clock whose anchor was a bad reading, its thread kept from running between
// the two clocks, is put right by the first stamp and stays as it is then.
func TestFromWallAfterBadAnchor(t *testing.T) {
	c := New()
	c.base = c.base.Add(20 * time.Microsecond) // with its monotonic reading
	wall := uint64(time.Now().UnixNano())
	first := c.FromWall(wall)
	if off := int64(first - wall); off > -20_000+steadyNS {
		t.Errorf("offset %d ns, want -20000", off)
	}
	for range 1000 {
		if again := c.FromWall(wall); again != first {
			t.Fatalf("the same instant is %d, then %d", first, again)
		}
	}
}

func BenchmarkFromWall(b *testing.B) {
	c := New()
	ns := uint64(time.Now().UnixNano())
	b.ReportAllocs()
	for b.Loop() {
		c.FromWall(ns)
	}
}

// Time is the inverse of NS, and NewAhead moves the clock.
func TestTimeAndAhead(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		c := NewAhead(ahead)
		now := time.Now()
		if got := c.Time(c.NS(now)); !got.Equal(now) {
			t.Errorf("ahead by %v: Time(NS(%v)) is %v", ahead, now, got)
		}
		if off := time.Duration(int64(c.NS(now))-now.UnixNano()) - ahead; off.Abs() > time.Second {
			t.Errorf("ahead by %v: off by %v", ahead, off)
		}
	}
}
