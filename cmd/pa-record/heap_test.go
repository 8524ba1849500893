package main

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
		{heapGoalBytes / 10, 400},
		{heapGoalBytes / 5, 400},
		{heapGoalBytes / 4, 300},
		{heapGoalBytes / 3, 200},
		{heapGoalBytes / 2, 100},
		{heapGoalBytes, 100},
		{1 << 40, 100},
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
	stop := steerHeap()
	reaches := func(want int) {
		t.Helper()
		for range 100 {
			runtime.GC()
			time.Sleep(heapCheckInterval / 5)
			p := debug.SetGCPercent(100)
			debug.SetGCPercent(p)
			if p == want {
				return
			}
		}
		t.Errorf("the percentage does not become %d", want)
	}
	reaches(mostGCPercent)
	large := make([]byte, heapGoalBytes)
	reaches(leastGCPercent)
	runtime.KeepAlive(large)
	reaches(mostGCPercent)
	stop()
	reaches(idleGCPercent)
}
