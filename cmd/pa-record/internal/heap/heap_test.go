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
		want int // during a load
	}{
		{0, 400},
		{1, 400},
		{goalBytes / 10, 400},
		{goalBytes / 5, 400},
		{goalBytes / 4, 300},
		{goalBytes / 3, 200},
		{goalBytes / 2, 100},
		{goalBytes, 100},
		{1 << 40, 100},
	} {
		if got := percent(tt.live, goalBytes, leastPercent); got != tt.want {
			t.Errorf("%d bytes in use during a load: %d %%, want %d", tt.live, got, tt.want)
		}
	}
	for _, tt := range []struct {
		live uint64
		want int // after it
	}{
		{0, 400},
		{2 << 20, 400},
		{4 << 20, 300},
		{8 << 20, 100},
		{12 << 20, 50},
		{16 << 20, 50},
		{1 << 40, 50},
	} {
		if got := percent(tt.live, idleGoalBytes, idlePercent); got != tt.want {
			t.Errorf("%d bytes in use after a load: %d %%, want %d", tt.live, got, tt.want)
		}
	}
}

// The percentage follows the memory in use, in both directions.
func TestSteer(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	stop := Steer()
	reaches := func(want int) {
		t.Helper()
		for range 100 {
			runtime.GC()
			time.Sleep(interval / 5)
			p := debug.SetGCPercent(100)
			debug.SetGCPercent(p)
			if p == want {
				return
			}
		}
		t.Errorf("the percentage does not become %d", want)
	}
	reaches(MostPercent)
	large := make([]byte, goalBytes)
	reaches(leastPercent)
	runtime.KeepAlive(large)
	reaches(MostPercent)
	stop()
	reaches(MostPercent) // the heap is small
	stop = Steer()
	large = make([]byte, goalBytes)
	reaches(leastPercent)
	stop()
	reaches(idlePercent)
	runtime.KeepAlive(large)
}
