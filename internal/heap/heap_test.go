package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{
		{0, 400},
		{1, 400},
		{garbageBytes / 10, 400},
		{garbageBytes / 4, 400},
		{garbageBytes / 2, 200},
		{garbageBytes, 100},
		{garbageBytes * 2, 50},
		{garbageBytes * 10, 50},
		{1 << 40, 50},
	} {
		if got := gcPercent(tt.live); got != tt.want {
			t.Errorf("percent(%d) = %d, want %d", tt.live, got, tt.want)
		}
	}
}

// The percentage follows the memory in use, in both directions.
func TestSteer(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	stop := Steer()
	reaches := func(want func() int) {
		t.Helper()
		p := 0
		for range 100 {
			runtime.GC()
			time.Sleep(heapCheckInterval / 5)
			p = debug.SetGCPercent(100)
			debug.SetGCPercent(p)
			if !gcDiffers(want(), p) {
				return
			}
		}
		t.Errorf("the percentage is %d, and does not become %d", p, want())
	}
	small := func() int { return gcPercent(liveBytes()) } // other tests leave something
	least := func() int { return leastGCPercent }
	reaches(small)
	large := make([]byte, 4*garbageBytes)
	reaches(least)
	runtime.KeepAlive(large)
	reaches(small)
	stop()
	reaches(least)
}
