package recorder

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// A process that has too much to do and collects garbage is not paused, although
// its watcher wakes late.
func TestBusyIsNoPause(t *testing.T) {
	// On one processor, each busy goroutine delays the watcher by a turn of 10 ms or more.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	base := time.Now()
	var over atomic.Bool
	var latest, longest uint64 // only the watcher's goroutine uses them until Stop returns
	w := startPauseWatch(func() uint64 {
		now := uint64(time.Since(base))
		if latest > 0 {
			longest = max(longest, now-latest)
		}
		latest = now
		if longest >= uint64(shortestPause) {
			over.Store(true)
		}
		return now
	})
	limit := time.AfterFunc(5*time.Second/time.Duration(testenv.Stride(10)), func() { over.Store(true) })
	defer limit.Stop()
	var busy sync.WaitGroup
	for range 80 / testenv.Stride(16) {
		busy.Go(func() {
			var keep [][]byte
			for !over.Load() {
				keep = append(keep, make([]byte, 1<<12))
				if len(keep) == 100 {
					keep = nil
				}
			}
		})
	}
	busy.Wait()
	if got := w.Stop(); len(got) > 0 {
		t.Errorf("pauses of a process that ran all the time: %+v", got)
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	t.Logf("the watcher slept for %v at most; garbage was collected %d times", time.Duration(longest), after.NumGC-before.NumGC)
}
