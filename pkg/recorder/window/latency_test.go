package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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

func (l *Latencies) meanAndDeviation() (mean, deviation float64) {
	return float64(l.sum) / float64(l.n), math.Sqrt(l.squares / float64(max(l.n-1, 1)))
}

// Up to maxExact latencies percentiles are exact, from there on at most 1/4096
// too high; mean and deviation are exact either way.
func TestLatencies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l Latencies
	for _, n := range []int{1, 2, 3, 1000, maxExact, maxExact + 1, 3 * maxExact, 5} {
		l.reset()
		var all []time.Duration
		for range n {
			d := time.Duration(math.Exp(rnd.NormFloat64()) * float64(time.Second))
			l.Add(d)
			all = append(all, d)
		}
		s := l.Summary()
		mean, deviation, percentiles := slowLatency(all)
		gotMean, gotDeviation := l.meanAndDeviation()
		if l.n != n || !near(gotMean, mean, 1e-12) || !near(gotDeviation, deviation, 1e-9) || s.Approximate != (n > maxExact) {
			t.Errorf("n %d: %d, mean %v, deviation %v, approximate %v; want %v, %v", n, l.n, gotMean, gotDeviation, s.Approximate, mean, deviation)
		}
		if got := l.typical(0); !near(float64(got), mean, 1e-8) {
			t.Errorf("n %d: typical %v, want the mean %v", n, got, mean)
		}
		for p := 1; p < 100; p++ {
			got, want := s.Percentiles[p], percentiles[p]
			if most := want / 4096; got < want || got > want+most || !s.Approximate && got != want {
				t.Errorf("n %d, p%d: %d, want %d", n, p, got, want)
			}
		}
		for _, p := range []int{1, 50, 99} { // each sorts all values
			if got := l.typical(p); got != s.Percentiles[p] {
				t.Errorf("n %d: typical p%d %d, want %d", n, p, got, s.Percentiles[p])
			}
		}
	}
	if s := new(Latencies).Summary(); s != (Latency{}) {
		t.Errorf("edge: none: %+v", s)
	}
}

// Merged latencies hold all latencies that were merged, whether these were kept as
// they are or in buckets.
func TestLatenciesMerge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, sizes := range [][]int{{}, {0}, {3}, {0, 3}, {3, 4, 5}, {3, maxExact}, {maxExact, 3}, {maxExact + 5, 3}, {3, maxExact + 5}, {maxExact + 1, 0, maxExact + 9}} {
		var all Latencies
		var values []time.Duration
		for _, n := range sizes {
			var part Latencies
			for range n {
				d := time.Duration(math.Exp(rnd.NormFloat64()) * float64(time.Second))
				part.Add(d)
				values = append(values, d)
			}
			all.merge(&part)
		}
		s := all.Summary()
		if all.n != len(values) || s.Approximate != (len(values) > maxExact) {
			t.Errorf("%v: %d latencies, approximate %v", sizes, all.n, s.Approximate)
		}
		if all.n == 0 {
			continue
		}
		mean, deviation, percentiles := slowLatency(values)
		gotMean, gotDeviation := all.meanAndDeviation()
		if !near(gotMean, mean, 1e-12) || !near(gotDeviation, deviation, 1e-9) || all.typical(0) != all.sum/time.Duration(all.n) {
			t.Errorf("%v: mean %v, deviation %v; want %v, %v", sizes, gotMean, gotDeviation, mean, deviation)
		}
		for p := 1; p < 100; p++ {
			got, want := s.Percentiles[p], percentiles[p]
			if most := want / 4096; got < want || got > want+most || !s.Approximate && got != want {
				t.Errorf("%v: p%d %d, want %d", sizes, p, got, want)
			}
		}
	}
}
