package inference

import (
	"math"
	"math/rand/v2"
	"testing"
)

// latencyMargins returns the margins of n independent lognormal latencies of which the share p is within
// the limit.
func latencyMargins(seed uint64, n int, p float64) []float32 {
	random := rand.New(rand.NewPCG(seed, 0))
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(normalQuantile(p) - random.NormFloat64())
	}
	return all
}

func TestAttained(t *testing.T) {
	t.Parallel()
	repeated := func(all []float32, n int) (each []float32) {
		for _, m := range all {
			for range n {
				each = append(each, m)
			}
		}
		return each
	}
	constant := func(n int, margin float32) []float32 { return repeated([]float32{margin}, n) }
	for _, tt := range []struct {
		name        string
		margins     []float32
		value       float64 // NaN: not checked
		low, high   float64 // of the 95 % interval
		least, most float64 // effective number
	}{
		// Clopper and Pearson give 0.9396 to 1 for 60 of 60; the quantile of 16 degrees of
		// freedom widens it to 0.0250^(1/(60·(1.960/2.120)²)).
		{"all meet it, at the limit", constant(60, 0), 1, 0.9306, 1, 60, 60},
		{"none meets it", constant(60, -1), 0, 0, 1 - 0.9306, 60, 60},
		{"a single request", []float32{1}, 1, 0.0133, 1, 1, 1},
		// 3600 of 4000: ±2.12·√(0.9·0.1/4000), and a little more for the measured effect.
		{"many", latencyMargins(1, 4000, 0.9), math.NaN(), 0.885, 0.915, 3000, 4000},
		{"the same, each a hundred times", repeated(latencyMargins(1, 4000, 0.9), 100), math.NaN(), 0.885, 0.915, 2500, 4000},
		// No miss shows a dependence, but the worst of those that meet it do.
		{"all meet it, each a hundred times", repeated(latencyMargins(2, 40, 0.999999), 100), 1, 0.898, 1, 10, 41},
		{"failed requests", append(constant(50, float32(math.Inf(-1))), constant(50, 1)...), 0.5, 0, 1, 1, 10},
	} {
		e := Attained(tt.margins)
		i := e.Interval(0.95)
		if e.NA.Missing() || e.N != len(tt.margins) || !math.IsNaN(tt.value) && e.Value != tt.value {
			t.Errorf("%s: %+v, want %v", tt.name, e, tt.value)
		}
		if math.Abs(i.Low-tt.low) > 0.012 || math.Abs(i.High-tt.high) > 0.012 || !i.Contains(e.Value) {
			t.Errorf("%s: %v in %v, want about %v to %v", tt.name, e.Value, i, tt.low, tt.high)
		}
		if e.EffectiveN < tt.least-1e-9 || e.EffectiveN > tt.most+1e-9 {
			t.Errorf("%s: worth %v requests, want %v to %v", tt.name, e.EffectiveN, tt.least, tt.most)
		}
	}
	if none := Attained(nil); none.NA.Reason != "no requests" || !math.IsNaN(none.Value) {
		t.Errorf("of nothing: %+v", none)
	}
}
