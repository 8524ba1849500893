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
		{goalBytes / 10, 400},
		{goalBytes / 5, 400},
		{goalBytes / 4, 300},
		{goalBytes / 3, 200},
		{goalBytes / 2, 100},
		{goalBytes, 100},
		{1 << 40, 100},
	} {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("percent(%d) = %d, want %d", tt.live, got, tt.want)
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
	reaches(idlePercent)
}
