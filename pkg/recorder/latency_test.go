package recorder

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// slowLatency computes by the definitions, from all values.
func slowLatency(d []time.Duration) (mean, deviation float64, percentiles [100]time.Duration) {
	d = slices.Sorted(slices.Values(d))
	for _, x := range d {
		mean += float64(x) / float64(len(d))
	}
	for _, x := range d {
		deviation += (float64(x) - mean) * (float64(x) - mean)
	}
	for p := 1; p < 100; p++ {
		percentiles[p] = d[int(float64(p)/100*float64(len(d)-1)+0.5)]
	}
	return mean, math.Sqrt(deviation / float64(max(len(d)-1, 1))), percentiles
}

func near(got, want, most float64) bool { return math.Abs(got-want) <= most*math.Abs(want) }

// Up to maxExact latencies percentiles are exact, from there on at most 1/4096
// too high; mean and deviation are exact either way.
func TestLatencies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l latencies
	for _, n := range []int{1, 2, 3, 1000, maxExact, maxExact + 1, 3 * maxExact, 5} {
		l.reset()
		var all []time.Duration
		for range n {
			d := time.Duration(math.Exp(rnd.NormFloat64()) * float64(time.Second))
			l.add(d)
			all = append(all, d)
		}
		s := l.summary()
		mean, deviation, percentiles := slowLatency(all)
		if s.N != n || !near(s.MeanNS, mean, 1e-12) || !near(s.StdDevNS, deviation, 1e-9) || s.Approximate != (n > maxExact) {
			t.Errorf("n %d: %d, mean %v, deviation %v, approximate %v; want %v, %v", n, s.N, s.MeanNS, s.StdDevNS, s.Approximate, mean, deviation)
		}
		if got := l.typical(0); !near(float64(got), mean, 1e-8) {
			t.Errorf("n %d: typical %v, want the mean %v", n, got, mean)
		}
		for p := 1; p < 100; p++ {
			got, want := s.Percentiles[p], percentiles[p]
			if most := want / 4096; got < want || got > want+most || !s.Approximate && got != want || got != l.typical(p) {
				t.Errorf("n %d, p%d: %d, %d, want %d", n, p, got, l.typical(p), want)
			}
		}
	}
	if s := new(latencies).summary(); s != (Latency{}) {
		t.Errorf("edge: none: %+v", s)
	}
}

// A nullWriter keeps nothing.
type nullWriter struct{ export.Writer }

func (nullWriter) WriteRequest(*export.Request) error { return nil }

// A finished request leaves nothing behind, however long the level: not with one
// window for all of it, nor with the percentile of each.
func TestMemoryPerRequest(t *testing.T) {
	const n = 2 * maxExact
	for name, m := range map[string]Measure{
		"one window":   {Requests: 6 * n},
		"long windows": {Mode: CountWindows, WindowRequests: n, MaxTrials: 10, Percentile: 99},
	} {
		t.Run(name, func(t *testing.T) {
			clock := rxclock.New()
			fake := &fakeServer{clock: clock, answer: func(uint64) answer { return answer{} }}
			l := &levelRun{
				session: &session{cfg: Config{Backend: fake, Writer: nullWriter{}, Clock: clock}},
				box:     newMailbox(), driver: newClosedLoop(load.Concurrency{N: 1}, crew{}), client: newClientView(), meter: newMeter(m, 1),
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
			if l.out.OK != len(after)*n || l.latencies.n != l.out.OK {
				t.Fatalf("%d requests counted, %d latencies; want %d", l.out.OK, l.latencies.n, len(after)*n)
			}
			if grown := (after[5] - after[4]) / n; grown > 0.1 { // of other tests' leftovers
				t.Errorf("%.2f bytes per request (the heap: %.0f), want none", grown, after)
			}
		})
	}
}

// Merged latencies are those of all that were merged, whether they were kept as
// they are or in buckets.
func TestLatenciesMerge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, sizes := range [][]int{{}, {0}, {3}, {0, 3}, {3, 4, 5}, {3, maxExact}, {maxExact, 3}, {maxExact + 5, 3}, {3, maxExact + 5}, {maxExact + 1, 0, maxExact + 9}} {
		var all latencies
		var values []time.Duration
		for _, n := range sizes {
			var part latencies
			for range n {
				d := time.Duration(math.Exp(rnd.NormFloat64()) * float64(time.Second))
				part.add(d)
				values = append(values, d)
			}
			all.merge(&part)
		}
		s := all.summary()
		if s.N != len(values) || s.Approximate != (len(values) > maxExact) {
			t.Errorf("%v: %d latencies, approximate %v", sizes, s.N, s.Approximate)
		}
		if s.N == 0 {
			continue
		}
		mean, deviation, percentiles := slowLatency(values)
		if !near(s.MeanNS, mean, 1e-12) || !near(s.StdDevNS, deviation, 1e-9) || all.typical(0) != all.sum/time.Duration(all.n) {
			t.Errorf("%v: mean %v, deviation %v; want %v, %v", sizes, s.MeanNS, s.StdDevNS, mean, deviation)
		}
		for p := 1; p < 100; p++ {
			got, want := s.Percentiles[p], percentiles[p]
			if most := want / 4096; got < want || got > want+most || !s.Approximate && got != want {
				t.Errorf("%v: p%d %d, want %d", sizes, p, got, want)
			}
		}
	}
}
