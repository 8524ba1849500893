package recorder

import (
	"testing"
	"testing/synctest"
	"time"
)

// The collector has half a core while its work is fresh, and all of one when it
// falls behind.
func TestThrottle(t *testing.T) {
	for _, tt := range []struct {
		name string
		work time.Duration // for a request
		n    int           // requests that ended together
		want time.Duration // for all
	}{
		{"nothing", 0, 0, 0},
		{"less than a slice", 100 * time.Microsecond, 4, 400 * time.Microsecond},
		{"ten slices, a rest between any two", 500 * time.Microsecond, 10, 5*time.Millisecond + 9*500*time.Microsecond},
		{"long requests", 4 * time.Millisecond, 10, 40*time.Millisecond + 9*4*time.Millisecond},
		// After 300 ms of work and rest the other 250 are done in a row.
		{"too much", time.Millisecond, 400, throttleUntil + 250*time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var p throttle
				p.begin()
				for range tt.n {
					p.step(time.Since(begin))
					time.Sleep(tt.work)
				}
				if got := time.Since(begin); got != tt.want {
					t.Errorf("%v, want %v", got, tt.want)
				}
			})
		})
	}
}

// Work that comes in small portions is work like any other, and waiting for it
// is rest.
func TestThrottleOfPortions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p throttle
		work := func(requests int) (took time.Duration) {
			begin := time.Now()
			p.begin()
			for range requests {
				p.step(0)
				time.Sleep(200 * time.Microsecond)
			}
			p.end()
			return time.Since(begin)
		}
		if got, want := work(2), 400*time.Microsecond; got != want {
			t.Errorf("first portion: %v, want %v", got, want)
		}
		// 600 µs are due after its first request.
		if got, want := work(2), 1000*time.Microsecond; got != want {
			t.Errorf("second portion: %v, want %v", got, want)
		}
		time.Sleep(time.Second)
		if got, want := work(2), 400*time.Microsecond; got != want {
			t.Errorf("after a second: %v, want %v", got, want)
		}
	})
}
