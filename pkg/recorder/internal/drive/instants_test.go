package drive

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Each goroutine waits until its instant, in any order and whoever else waits, and at most one of them waits exactly but for one whose
// instant is earlier. The end of the load ends all waits.
func TestInstants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q instants
		var waiting sync.WaitGroup
		var exactly, most, nears atomic.Int32
		wait := func(until time.Time, done <-chan struct{}, near func()) bool {
			most.Store(max(most.Load(), exactly.Add(1)))
			defer exactly.Add(-1)
			if !load.WaitTimer(until.Add(-60*time.Microsecond), done) {
				return false
			}
			near()
			return load.WaitTimer(until, done)
		}
		start := time.Now()
		done := make(chan struct{})
		for i := range 200 {
			at := time.Duration(i*i*7919%100_000) * time.Microsecond
			waiting.Go(func() {
				if ok := q.wait(start.Add(at), done, func() { nears.Add(1) }, wait); !ok || time.Since(start) != max(at, 0) {
					t.Errorf("waited %v, %v; want %v", time.Since(start), ok, at)
				}
			})
		}
		waiting.Wait()
		if q.leading || len(q.others) > 0 || nears.Load() != 200 || most.Load() > 8 { // the last 60 µs of some are together
			t.Errorf("%v leads, %d wait, %d were near, at most %d waited exactly", q.leading, len(q.others), nears.Load(), most.Load())
		}
		var ended atomic.Int32
		for i := range 20 {
			waiting.Go(func() {
				if !q.wait(time.Now().Add(time.Duration(20-i)*time.Hour/10_000_000_000+time.Millisecond), done, nil, wait) {
					ended.Add(1)
				}
			})
		}
		close(done)
		waiting.Wait()
		if q.leading || len(q.others) > 0 || ended.Load() != 20 {
			t.Errorf("at the end %v leads, %d wait, %d of 20 ended", q.leading, len(q.others), ended.Load())
		}
	})
}
