package rxclock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	start  = 1_800_000_000_000_000_000
	second = 1_000_000_000
)

func TestDrift(t *testing.T) {
	for _, tt := range []struct {
		name    string
		samples []Sample
		want    []Step
	}{
		{"none", nil, nil},
		{"one", []Sample{{start, 5_000_000_000}}, nil},
		{"slewed by 500 ppm and measured 1 ms wrong", []Sample{{start, 0}, {start + second, 1_500_000}}, nil},
		{"one ns more", []Sample{{start, 0}, {start + second, 1_500_001}}, []Step{{start, start + second, 1_500_001}}},
		{"back", []Sample{{start, 0}, {start + second, -1_500_001}}, []Step{{start, start + second, -1_500_001}}},
		{
			"an hour, and back again",
			[]Sample{{start, 0}, {start + second, 3600 * second}, {start + 2*second, 0}},
			[]Step{{start, start + second, 3600 * second}, {start + second, start + 2*second, -3600 * second}},
		},
		{"not later, or earlier: ignored", []Sample{{start, 0}, {start, second}, {start - 1, second}, {start + second, 0}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d Drift
			for _, s := range tt.samples {
				d.Add(s)
			}
			if diff := cmp.Diff(tt.want, d.Steps()); diff != "" {
				t.Errorf("Steps (-want +got):\n%s", diff)
			}
		})
	}
}

// Watch samples at once, each interval, and when it is told to end: a step at
// any time lies between two samples.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		var d Drift
		began := c.NowNS()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan bool)
		go func() { c.Watch(ctx, time.Second, &d); close(done) }()
		at := func(wait time.Duration, want uint64) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.last.AtNS != began+want || d.last.OffsetNS != 0 {
				t.Errorf("last sample %+v, want offset 0 at start + %d", d.last, want)
			}
		}
		at(0, 0)
		at(1500*time.Millisecond, second)
		at(time.Second, 2*second)
		cancel()
		<-done
		at(0, 2*second+second/2)
	})
}

// The offset of the real clocks is no further off than the readings are apart.
func TestSample(t *testing.T) {
	c := New()
	for range 1000 {
		before, wall0 := c.NowNS(), time.Now().UnixNano()
		s := c.sample()
		wall1, after := time.Now().UnixNano(), c.NowNS()
		if s.AtNS < before || s.AtNS > after {
			t.Fatalf("sample at %d, not between %d and %d", s.AtNS, before, after)
		}
		if lo, hi := wall0-int64(after), wall1-int64(before); s.OffsetNS < lo || s.OffsetNS > hi {
			t.Fatalf("offset %d, not between %d and %d", s.OffsetNS, lo, hi)
		}
	}
}
