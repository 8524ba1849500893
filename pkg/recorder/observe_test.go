package recorder

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// slowStats is a server that takes 70 ms to say how many requests it has got.
type slowStats struct {
	got     *atomic.Uint64
	pending sync.WaitGroup
	mu      sync.Mutex
	level   export.ServerStats
}

func (s *slowStats) Edge(edge export.StatsEdge, window int) {
	s.pending.Go(func() {
		time.Sleep(70 * time.Millisecond)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.level.Snapshots = append(s.level.Snapshots, export.StatsSnapshot{
			Edge: edge, Window: window, Stats: []export.ModelStats{{Name: "m", Version: "1", InferenceCount: s.got.Load()}},
		})
	})
}

func (s *slowStats) Wait() { s.pending.Wait() }

func (s *slowStats) Level() *export.ServerStats {
	s.Wait()
	level := s.level
	s.level = export.ServerStats{}
	return &level
}

// The server counts exactly the requests of a level, however long it takes to answer: it is asked
// before the first request, not during it.
func TestServerCountsTheRequestsOfALevel(t *testing.T) {
	for _, tt := range []struct {
		name   string
		level  load.Level
		warmup int
		before uint64 // the first of the levels, in the counters of the second
	}{
		{"a closed loop", load.Concurrency{N: 2}, 0, 10},
		{"after a warm-up of its own", load.Concurrency{N: 2}, 3, 13},
		{"a rate", load.Rate{PerSecond: 100}, 0, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got atomic.Uint64
			answers := func(id uint64) answer { // called more than once for a request
				for n := got.Load(); id > n && !got.CompareAndSwap(n, id); n = got.Load() {
				}
				return answer{after: 20 * time.Millisecond, status: export.StatusOK}
			}
			_, res, _, err := record(t, answers, Config{
				Levels: []load.Level{tt.level, tt.level}, Warmup: tt.warmup, Measure: window.Measure{Requests: 10}, ServerStats: &slowStats{got: &got},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []uint64{uint64(tt.warmup), tt.before + uint64(tt.warmup)} {
				begin, end := res.Levels[i].ServerStats.Window(0)
				if begin == nil || end == nil {
					t.Fatalf("level %d: snapshots %+v", i, res.Levels[i].ServerStats.Snapshots)
				}
				b, e := begin.Stats[0].InferenceCount, end.Stats[0].InferenceCount
				if b != want || e != want+10 {
					t.Errorf("level %d: counted from %d to %d, want %d to %d", i, b, e, want, want+10)
				}
			}
		})
	}
}
