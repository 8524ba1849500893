package heap

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// MostGCPercent bounds the garbage while little memory is in use, in percent of it. It is right
// for all that pa-record does besides a load.
const MostGCPercent = 400

const (
	// garbageBytes is the memory that garbage may take during a load.
	garbageBytes = 16 << 20
	// leastGCPercent is the percentage of a large heap. It is also for the time after the load,
	// which collections do not disturb.
	leastGCPercent = 50

	heapCheckInterval = 500 * time.Millisecond // a check takes a microsecond
)

// Steer sets the collector's percentage for a load, now and as the memory in use changes,
// until stop is called. Then collections are frequent. Only one Steer may run at a time.
//
// Collections disturb the receivers, so they wait for garbageBytes of garbage, or for more if
// much memory is in use: then each of them takes longer.
func Steer() (stop func()) {
	set := MostGCPercent
	debug.SetGCPercent(set)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heapCheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if p := gcPercent(liveBytes()); gcDiffers(p, set) {
				debug.SetGCPercent(p) // stops all goroutines for some microseconds
				set = p
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		debug.SetGCPercent(leastGCPercent)
		debug.FreeOSMemory() // what the load needed; the exports take their own
	}
}

// liveBytes returns the memory in use after the last collection. The collector's percentage counts
// from this memory.
func liveBytes() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64() + live[1].Value.Uint64()
}

// gcPercent returns the percentage for a number of bytes in use.
func gcPercent(live uint64) int {
	return int(min(max(garbageBytes*100/max(live, 1), leastGCPercent), MostGCPercent)) //nolint:gosec // below 2^63
}

// gcDiffers reports whether a change from b to a percent is worth a stop of all goroutines.
func gcDiffers(a, b int) bool {
	return 4*max(a-b, b-a) > b || a != b && (a == leastGCPercent || a == MostGCPercent)
}
