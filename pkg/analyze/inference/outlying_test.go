package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOutlyingRuns(t *testing.T) {
	quiet := []float64{100, 101, 99, 100.5, 99.5}
	cold := []float64{8248, 101, 99, 100.5, 99.5}
	for _, tt := range []struct {
		name         string
		older, newer []float64
		want         []OutlyingRun // without P
	}{
		{"none", quiet, quiet, nil},
		{"cold old run", cold, quiet, []OutlyingRun{{Run: 0, Factor: 82.48}}},
		{"both cold", cold, cold, []OutlyingRun{{Run: 0, Factor: 82.48}, {New: true, Run: 0, Factor: 82.48}}},
		{"fast run", quiet, []float64{100, 101, 99, 50, 99.5}, []OutlyingRun{{New: true, Run: 3, Factor: 0.5005}}},
		{"one side alone", cold, nil, []OutlyingRun{{Run: 0, Factor: 82.48}}},
		{"one of two sides is short", cold, []float64{800, 100, 101}, []OutlyingRun{{Run: 0, Factor: 82.48}}},
		{"three runs", []float64{800, 100, 101}, []float64{100, 99, 101}, nil},
		{"two kinds of runs", []float64{100, 300, 101, 301, 99}, quiet, nil},
		{"constants", []float64{100, 100, 100, 100, 150}, []float64{100, 100, 100, 100}, []OutlyingRun{{Run: 4, Factor: 1.5}}},
		{"a grid", []float64{10, 10, 10, 10, 12}, []float64{10, 12, 10, 12, 12}, nil},
		{"small difference", []float64{100, 100, 100, 100, 109}, []float64{100, 100, 100, 100}, nil},
		{"no logarithm", []float64{8248, 101, 0, 100.5, 99.5}, quiet, nil},
		{"not a number", []float64{8248, 101, math.NaN(), 100.5, 99.5}, quiet, nil},
		{"no runs", nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := OutlyingRuns(tt.older, tt.newer)
			if !slices.EqualFunc(got, tt.want, func(g, w OutlyingRun) bool {
				return g.New == w.New && g.Run == w.Run && near(g.Factor, w.Factor, 0.001*w.Factor) && g.P <= 0.001
			}) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// By hand: 0, 1, 2 and the run 12 on the logarithmic scale. Alone, t = (12 − 1)/√(1 + 1/3) with 2
// degrees of freedom; with the second side's 0, 3 and 0 (variance 3), t = 11/√(2·4/3) with 4.
func TestOutlyingRunByHand(t *testing.T) {
	exp := func(logs ...float64) (values []float64) {
		for _, l := range logs {
			values = append(values, math.Exp(l))
		}
		return values
	}
	others := spreadWithout([]float64{0, 1, 2, 12}, 3)
	alone := 2 * StudentUpper(11/math.Sqrt(4./3), 2)
	if got := others.pOf(12, spreadWithout(nil, 3)); !near(got, alone, 1e-12) {
		t.Errorf("alone P = %v, want %v", got, alone)
	}
	together := 2 * StudentUpper(11/math.Sqrt(2*4./3), 4)
	if got := others.pOf(12, spreadWithout([]float64{0, 3, 0, 50}, 3)); !near(got, 2*min(alone, together), 1e-12) {
		t.Errorf("together P = %v, want %v", got, 2*min(alone, together))
	}
	if got := OutlyingRuns(exp(0, 1, 2, 12), nil); got != nil {
		t.Errorf("a run with P = %v of 4 is outlying: %v", alone, got)
	}
}

// Quiet sides have no outlying runs; a run that takes half as long again is found.
func TestOutlyingRunsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 2))
	side := func(k int, deviation, first float64) []float64 {
		values := make([]float64, k)
		for i := range values {
			values[i] = math.Exp(deviation * rng.NormFloat64())
		}
		values[0] *= first
		return values
	}
	for _, tt := range []struct {
		k                  int
		older, newer       float64 // deviations
		firstOld, firstNew float64
		least, most        float64 // share with a first run found, or anything found
	}{
		{5, 0.01, 0.01, 1, 1, 0, 0.001},
		{5, 0.1, 0.1, 1, 1, 0, 0.015},
		{10, 0.1, 0.1, 1, 1, 0, 0.015},
		{5, 0.1, 0.03, 1, 1, 0, 0.03},
		{5, 0.01, 0.01, 1.5, 1, 0.99, 1},
		{5, 0.01, 0.01, 1.5, 1.5, 0.99, 1},
		{4, 0.01, 0.01, 1.5, 1.5, 0.98, 1},
	} {
		const draws = 1000
		found := 0
		for range draws {
			found += one(len(OutlyingRuns(side(tt.k, tt.older, tt.firstOld), side(tt.k, tt.newer, tt.firstNew))) > 0)
		}
		if share := float64(found) / draws; share < tt.least || share > tt.most {
			t.Errorf("%+v: outlying runs in %v", tt, share)
		}
	}
}
