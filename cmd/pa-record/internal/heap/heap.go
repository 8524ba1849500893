package heap

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// MostPercent bounds the garbage while little memory is in use, in percent of it. It is right
// for all that pa-record does besides a load.
const MostPercent = 400

const (
	// goalBytes is the size of the heap that collections keep to while they may.
	goalBytes = 96 << 20
	// leastPercent is the percentage of a large heap: Go's default.
	leastPercent = 100
	// idlePercent is for the time after the load, which collections do not disturb.
	idlePercent = 50

	interval = 500 * time.Millisecond // a check takes a microsecond
)

// Steer sets the collector's percentage for a load, now and as the memory in use changes,
// until stop is called. Then collections are frequent. Only one Steer may run at a time.
func Steer() (stop func()) {
	set := MostPercent
	debug.SetGCPercent(set)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			metrics.Read(live)
			if p := percent(live[0].Value.Uint64()); differs(p, set) {
				debug.SetGCPercent(p) // stops all goroutines for some microseconds
				set = p
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		debug.SetGCPercent(idlePercent)
	}
}

// percent returns the percentage for a number of bytes in use.
func percent(live uint64) int {
	if live == 0 {
		return MostPercent
	}
	garbage := goalBytes - int64(min(live, goalBytes))
	return int(min(max(garbage*100/int64(live), leastPercent), MostPercent)) //nolint:gosec // below 2^63
}

// differs reports whether a change from b to a percent is worth a stop of all goroutines.
func differs(a, b int) bool {
	return 4*max(a-b, b-a) > b || a != b && (a == leastPercent || a == MostPercent)
}
