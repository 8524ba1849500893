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
	large := make([]byte, 4*garbageBytes)
	reaches(leastGCPercent)
	runtime.KeepAlive(large)
	reaches(mostGCPercent)
	stop()
	reaches(leastGCPercent)
}
