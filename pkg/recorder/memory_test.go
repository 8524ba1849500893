package recorder

import (
	"runtime"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A nullWriter keeps nothing.
type nullWriter struct{ export.Writer }

func (nullWriter) WriteRequest(*export.Request) error { return nil }

// A finished request leaves nothing behind, however long the level: not with one
// window for all of it, nor with the percentile of each.
func TestMemoryPerRequest(t *testing.T) {
	const n = 1 << 17 // twice as many as latencies are kept exactly
	for name, m := range map[string]window.Measure{
		"one window":   {Requests: 6 * n},
		"long windows": {Mode: window.ByCount, WindowRequests: n, MaxTrials: 10, Percentile: 99},
	} {
		t.Run(name, func(t *testing.T) {
			clock := rxclock.New()
			fake := &fakeServer{clock: clock, answer: func(uint64) answer { return answer{} }}
			l := &levelRun{
				runState:  &runState{cfg: Config{Backend: fake, Writer: nullWriter{}, Clock: clock}},
				completed: drive.NewQueue(), driver: drive.New(load.Concurrency{N: 1}, drive.Stage{}), client: startClientStats(), meter: window.NewMeter(m, 1),
			}
			x := &backend.Exchange{Request: export.Request{Responses: make([]export.Response, 1)}}
			live := func() float64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return float64(m.HeapAlloc)
			}
			var after [6]float64 // the last windows' latencies are kept, so it takes as many to get there
			for i := range after {
				for k := range n {
					id := uint64(i*n + k + 1)
					r := &x.Request
					r.ID, r.Status, r.Phase, r.StartNS = id, export.StatusOK, export.PhaseMeasured, id*ms
					r.Responses[0] = export.Response{RecvNS: (id+1+id%1000)*ms + id, Source: export.SourceKernel}
					x.Tokens = backend.Tokens{}
					l.decode(x)
					l.settle(x)
				}
				after[i] = live()
			}
			runtime.KeepAlive(l)
			if l.out.OK != len(after)*n || l.latencies.Summary().Percentiles[50] == 0 {
				t.Fatalf("%d requests counted; want %d, with latencies", l.out.OK, len(after)*n)
			}
			if grown := (after[5] - after[4]) / n; grown > 0.1 { // of other tests' leftovers
				t.Errorf("%.2f bytes per request (the heap: %.0f), want none", grown, after)
			}
		})
	}
}
