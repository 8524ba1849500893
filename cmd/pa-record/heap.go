package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// mostGCPercent bounds the garbage while little memory is in use, in percent of it. It is right
// for all that pa-record does besides a load.
const mostGCPercent = 400

const (
	// heapGoalBytes is the size of the heap that collections keep to while they may.
	heapGoalBytes = 96 << 20
	// leastGCPercent is the percentage of a large heap: Go's default.
	leastGCPercent = 100
	// idleGCPercent is for the time after the load, which collections do not disturb.
	idleGCPercent = 50

	heapCheckInterval = 500 * time.Millisecond // a check takes a microsecond
)

// steerHeap sets the collector's percentage for a load, now and as the memory in use changes,
// until stop is called. Then collections are frequent. Only one steerHeap may run at a time.
//
// Collections disturb the receivers, so they are rare while the program uses little memory. The
// more memory it uses, the more often they come, which bounds the memory that garbage takes.
func steerHeap() (stop func()) {
	set := mostGCPercent
	debug.SetGCPercent(set)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heapCheckInterval)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			metrics.Read(live)
			if p := gcPercent(live[0].Value.Uint64()); gcDiffers(p, set) {
				debug.SetGCPercent(p) // stops all goroutines for some microseconds
				set = p
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		debug.SetGCPercent(idleGCPercent)
	}
}

// gcPercent returns the percentage for a number of bytes in use.
func gcPercent(live uint64) int {
	if live == 0 {
		return mostGCPercent
	}
	garbage := heapGoalBytes - int64(min(live, heapGoalBytes))
	return int(min(max(garbage*100/int64(live), leastGCPercent), mostGCPercent)) //nolint:gosec // below 2^63
}

// gcDiffers reports whether a change from b to a percent is worth a stop of all goroutines.
func gcDiffers(a, b int) bool {
	return 4*max(a-b, b-a) > b || a != b && (a == leastGCPercent || a == mostGCPercent)
}
