package inference

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRunsForEquivalence(t *testing.T) {
	for _, tt := range []struct {
		deviation, margin float64
		want              int
	}{
		{0, 0.05, 3},
		{0.001, 0.05, 3},
		{0.01, 0.03, 4}, // with 3 runs, 2·(2.132 + 1.533)²·(0.01/0.02956)² = 3.07
		{0.03, 0.05, 8}, // with 7 runs, 2·(1.782 + 1.356)²·(0.03/0.04879)² = 7.45
		{0.03, 0, 0},
		{0.03, -0.05, 0},
		{math.NaN(), 0.05, 0},
		{math.Inf(1), 0.05, 0},
		{0.03, math.NaN(), 0},
		{1, 1e-9, 0},
	} {
		if got := RunsForEquivalence(tt.deviation, tt.margin); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// With RunsForEquivalence runs a side, equal sides are shown to be within the margin in 80 of 100
// comparisons, and sides that differ by the margin in at most 5.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 3))
	const draws, deviation, margin = 2000, 0.03, 0.05
	k := RunsForEquivalence(deviation, margin)
	shown := func(change float64) (n int) {
		for range draws {
			sides := [2][]float64{}
			for i := range 2 * k {
				side := i % 2
				sides[side] = append(sides[side], math.Exp(deviation*rng.NormFloat64())*math.Pow(1+change, float64(side)))
			}
			c := Welch(sides[0], sides[1])
			ends := c.Within()
			n += one(ends.Low > 1/(1+margin)-1 && ends.High < margin)
		}
		return n
	}
	if n := shown(0); n < draws*78/100 || n > draws*92/100 {
		t.Errorf("equal sides with %d runs are within the margin in %d of %d comparisons, want about 80 %%", k, n, draws)
	}
	if n := shown(margin); n > draws*6/100 {
		t.Errorf("sides that differ by the margin are within it in %d of %d comparisons", n, draws)
	}
}
