package pause

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/testenv"
)

// A process that has too much to do and collects garbage is not paused, although
// its watcher wakes late.
func TestBusyIsNoPause(t *testing.T) {
	base := time.Now()
	var latest, longest atomic.Uint64
	w := Start(func() uint64 {
		now := uint64(time.Since(base))
		longest.Store(max(longest.Load(), now-latest.Swap(now))) // one goroutine reads the clock
		return now
	})
	var over atomic.Bool
	var busy sync.WaitGroup
	for range 16 * runtime.GOMAXPROCS(0) {
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
	for late := time.Now().Add(5 * time.Second / time.Duration(testenv.Stride(10))); longest.Load() < uint64(shortest) && time.Now().Before(late); {
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	over.Store(true)
	busy.Wait()
	if got := w.Stop(); len(got) > 0 {
		t.Errorf("pauses of a process that ran all the time: %+v", got)
	}
	t.Logf("the watcher slept for %v at most", time.Duration(longest.Load()))
}
