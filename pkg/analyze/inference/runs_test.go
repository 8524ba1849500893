package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Two examples of Welch's test that are widely printed, with t, the degrees of
// freedom and P.
func TestWelch(t *testing.T) {
	moments := func(x []float64) (mean, se float64) {
		mean = average(x)
		for _, v := range x {
			se += (v - mean) * (v - mean)
		}
		n := float64(len(x))
		return mean, math.Sqrt(se / (n - 1) / n)
	}
	for _, tt := range []struct {
		name     string
		a, b     []float64
		t, df, p float64
	}{
		{
			"equal variances",
			[]float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
			[]float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4},
			-2.46, 25.0, 0.021,
		},
		{
			"unequal variances",
			[]float64{17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8},
			[]float64{21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8},
			-1.57, 9.9, 0.149,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m0, s0 := moments(tt.a)
			m1, s1 := moments(tt.b)
			n0, n1 := float64(len(tt.a)), float64(len(tt.b))
			v0, v1 := s0*s0, s1*s1
			df := satterthwaite(v0/(v0+v1), n0, v1/(v0+v1), n1)
			got := (m0 - m1) / math.Hypot(s0, s1)
			if p := 2 * StudentUpper(math.Abs(got), df); !near(got, tt.t, 0.005) || !near(df, tt.df, 0.05) || !near(p, tt.p, 0.0005) {
				t.Errorf("t %v, df %v, P %v; want %v, %v, %v", got, df, p, tt.t, tt.df, tt.p)
			}
			p := welch(m0-m1, s0, n0, s1, n1)
			if n0 == n1 && !near(p.df, df, 1e-9) || n0 != n1 && !near(p.df, df-unequalPart*(df-9), 1e-9) {
				t.Errorf("%v degrees of freedom, by Welch %v", p.df, df)
			}
		})
	}
}

// Logarithms 0, 1, 2 against 1.9, 2.9, 3.9: t = 1.9/√(2/3), 4 degrees of freedom.
func TestRuns(t *testing.T) {
	e := math.E
	c := Runs([]float64{1, e, e * e}, []float64{math.Exp(1.9), math.Exp(2.9), math.Exp(3.9)})
	if !near(c.Old.Value, e, 1e-12) || !near(c.New.Value, math.Exp(2.9), 1e-11) || !near(c.Change, math.Exp(1.9)-1, 1e-11) {
		t.Errorf("%v → %v, %v; want e → e^2.9, e^1.9 − 1", c.Old.Value, c.New.Value, c.Change)
	}
	if want := 2 * StudentUpper(1.9/math.Sqrt(2./3), 4); !near(c.P, want, 1e-9) {
		t.Errorf("P = %v, want %v", c.P, want)
	}
	half := 2.776 * math.Sqrt(2./3)
	if i := c.Interval(0.95); !near(math.Log1p(i.Low), 1.9-half, 0.001) || !near(math.Log1p(i.High), 1.9+half, 0.001) {
		t.Errorf("interval %v, want exp(1.9 ± %v) − 1", i, half)
	}
	half = 4.303 / math.Sqrt(3)
	if i := c.Old.Interval(0.95); !near(math.Log(i.Low), 1-half, 0.001) || !near(math.Log(i.High), 1+half, 0.001) {
		t.Errorf("interval of the old side %v, want exp(1 ± %v)", i, half)
	}
	if c.Rank == nil || c.Rank.NA.Needs != 6 {
		t.Errorf("rank test %+v, want none before 6 runs a side", c.Rank)
	}
}

func TestRunsNotAvailable(t *testing.T) {
	good := []float64{1, 1.1, 0.9, 1.05, 1.2, 0.8}
	for _, tt := range []struct {
		name         string
		older, newer []float64
		reason       string
		needs        int
		rank         bool
	}{
		{"empty", nil, nil, "either side: no runs", 3, false},
		{"one", good[:1], good, "old: only 1 run", 3, false},
		{"two", good, good[:2], "new: only 2 runs", 3, false},
		{"zero", good, []float64{1, 2, 3, 4, 5, 0}, "new: run 6 has 0, which has no usable logarithm", 0, true},
		{"negative", []float64{-1, 2, 3}, good, "old: run 1 has -1", 0, false},
		{"NaN", good, []float64{1, 2, math.NaN(), 4, 5, 6}, "new: run 3 has NaN", 0, false},
		{"infinite", good, []float64{1, 2, math.Inf(1), 4, 5, 6}, "new: run 3 has +Inf", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Runs(tt.older, tt.newer)
			if !strings.Contains(c.NA.Reason, tt.reason) || c.NA.Needs != tt.needs {
				t.Errorf("%v because %q, want %d because %q", c.NA, c.NA.Reason, tt.needs, tt.reason)
			}
			if !math.IsNaN(c.P) || !math.IsNaN(c.Interval(0.95).Low) {
				t.Errorf("P %v and interval %v, want none", c.P, c.Interval(0.95))
			}
			if got := !c.Rank.NA.Missing(); got != tt.rank {
				t.Errorf("rank test %+v, want one: %v", c.Rank, tt.rank)
			}
		})
	}
}

// Constants differ with the p-value of the only division of the values that separates them so: an
// exact permutation test. Up to 1 − P, the interval is half a step to either side.
func TestRunsConstant(t *testing.T) {
	all := func(value float64, runs int) []float64 { return slices.Repeat([]float64{value}, runs) }
	for _, tt := range []struct {
		name         string
		older, newer []float64
		p            float64
	}{
		{"3 v 3", all(100, 3), all(150, 3), 0.1},
		{"4 v 4", all(100, 4), all(150, 4), 2. / 70},
		{"5 v 5", all(100, 5), all(150, 5), 2. / 252},
		{"5 v 5, faster", all(150, 5), all(100, 5), 2. / 252},
		{"3 v 7", all(100, 3), all(150, 7), 2. / 120},
		{"10 times as long", all(100, 5), all(1000, 5), 2. / 252},
		{"equal", all(0.1, 5), all(0.1, 5), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Welch(tt.older, tt.newer)
			change := tt.newer[0]/tt.older[0] - 1
			if !c.Constant || c.NA.Missing() || !near(c.P, tt.p, 1e-12) || !near(c.Change, change, 1e-9) {
				t.Fatalf("constant %v, %v, P %v, change %v; want P %v, change %v", c.Constant, c.NA, c.P, c.Change, tt.p, change)
			}
			if tt.p == 1 {
				if i := c.Interval(0.999); i != (Interval{0, 0}) || c.Change != 0 {
					t.Errorf("interval %v of equal constants", i)
				}
				return
			}
			i, half := c.Interval(1-tt.p), math.Abs(math.Log1p(change))/2
			if i.Contains(0) || !near(math.Log1p(i.High)-math.Log1p(i.Low), 2*half, 1e-9) {
				t.Errorf("interval %v at the level %v, want ln %v ± %v", i, 1-tt.p, 1+change, half)
			}
			if i := c.Interval(1 - tt.p/2); i.Low != -1 || !math.IsInf(i.High, 1) {
				t.Errorf("interval %v at the level %v, which these runs cannot show", i, 1-tt.p/2)
			}
		})
	}
	// Together with three tests that vary: Holm's factor 4, but not for a constant that is equal.
	tests := []Test{
		{P: 2. / 252, Older: all(100, 5), Newer: all(150, 5)},
		{P: 0.2},
		{P: 0.3},
		{P: 0.4},
		{P: 1, Older: all(7, 5), Newer: all(7, 5)},
	}
	if adjusted, _ := Adjust(tests, 0.05); !near(adjusted[0], 8./252, 1e-12) || adjusted[4] != 1 {
		t.Errorf("adjusted %v, want 4 times 2/252 first", adjusted)
	}
}

// Medians of a clock of 1 ms: the interval never says more than half a step. Values that do not
// repeat show no grid.
func TestRunsOnGrid(t *testing.T) {
	c := Welch([]float64{10, 10, 11, 10, 10}, []float64{10, 11, 10, 10, 10})
	half := math.Log(1.1) / 2
	if i := c.Interval(0.5); math.Log1p(i.High) < half || math.Log1p(i.Low) > -half || c.P != 1 {
		t.Errorf("interval %v, P %v; want at least ± %v", i, c.P, half)
	}
	if c := Welch([]float64{10, 10, 10, 10, 10}, []float64{10, 10, 10, 10, 10.0001}); c.Interval(0.95).High < 0.00001/2 {
		t.Errorf("interval %v is narrower than the resolution", c.Interval(0.95))
	}
	free, grid := []float64{100, 101.3, 99.2, 100.4, 98.9}, []float64{102.1, 103.6, 101.8, 102.9, 101.1}
	before := Welch(free, grid)
	if halfStep(free, grid) != 0 {
		t.Errorf("a half step of %v of values that do not repeat", halfStep(free, grid))
	}
	grid[0] = grid[4] // now one value repeats; the smallest step is 101.3 to 101.1
	if after := Welch(free, grid); after.Interval(0.95).High-after.Interval(0.95).Low > 1.1*(before.Interval(0.95).High-before.Interval(0.95).Low) {
		t.Errorf("interval %v of values on a fine grid, %v without", after.Interval(0.95), before.Interval(0.95))
	}
}

// With unequal numbers of runs, equal sides are found different in at most 5 % of the comparisons,
// also if the sides deviate differently. A change of 5 % is found in 85 % of the comparisons of 3 and
// 3 runs.
func TestUnequalRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 4))
	const draws = 800
	found := func(runs [2]int, deviations [2]float64, change float64) float64 {
		n := 0
		for range draws {
			var values [4][2][]float64 // of a family like TTFT, TPOT, E2EL and a rate
			for side := range 2 {
				for range runs[side] {
					first := math.Exp(deviations[side]*rng.NormFloat64()) * math.Pow(1+change, float64(side))
					pace := math.Exp(deviations[side] * rng.NormFloat64())
					whole := 0.15*first + 0.85*pace
					for i, v := range []float64{first, pace, whole, math.Exp(0.003*rng.NormFloat64()) / whole} {
						values[i][side] = append(values[i][side], v)
					}
				}
			}
			var older, newer [][]float64
			for _, v := range values {
				older, newer = append(older, v[0]), append(newer, v[1])
			}
			adjusted, _ := Adjust(testsOf(older, newer), 0.05)
			n += one(slices.Min(adjusted) <= 0.05)
		}
		return float64(n) / draws
	}
	for _, tt := range []struct {
		runs       [2]int
		deviations [2]float64
	}{
		{[2]int{3, 10}, [2]float64{0.01, 0.01}},
		{[2]int{3, 20}, [2]float64{0.01, 0.01}},
		{[2]int{4, 20}, [2]float64{0.01, 0.01}},
		{[2]int{12, 4}, [2]float64{0.01, 0.01}},
		{[2]int{3, 10}, [2]float64{0.03, 0.01}},
		{[2]int{20, 3}, [2]float64{0.01, 0.03}},
	} {
		if share := found(tt.runs, tt.deviations, 0); share > 0.05 {
			t.Errorf("%+v: %.1f %% of equal sides are found different", tt, 100*share)
		}
	}
	equal := [2]float64{0.01, 0.01}
	if share := found([2]int{3, 10}, equal, 0.05); share < 0.7 {
		t.Errorf("+5 %% is found in %.1f %% with 3 and 10 runs", 100*share)
	}
	if share := found([2]int{3, 3}, equal, 0.05); share < 0.85 {
		t.Errorf("+5 %% is found in %.1f %% with 3 and 3 runs", 100*share)
	}
	if share := found([2]int{3, 3}, equal, 0); share > 0.05 {
		t.Errorf("%.1f %% of equal sides of 3 runs are found different", 100*share)
	}
}

func TestUnbalanced(t *testing.T) {
	for _, tt := range []struct {
		older, newer int
		want         bool
	}{{3, 3, false}, {3, 4, true}, {4, 5, true}, {5, 4, true}, {5, 6, false}, {10, 5, false}, {5, 11, true}, {10, 30, true}} {
		if got := Unbalanced(tt.older, tt.newer); got != tt.want {
			t.Errorf("%d and %d runs: %v", tt.older, tt.newer, got)
		}
	}
}

// One side without any spread is no obstacle: the other has some.
func TestRunsOneSideConstant(t *testing.T) {
	c := Runs([]float64{1, 1, 1}, []float64{1.1, 1.2, 1.3, 1.2})
	if c.NA.Missing() || !near(c.pivot.df, 3-unequalPart, 1e-12) || !(c.P < 0.05) || c.Constant {
		t.Errorf("%v, df %v, P %v", c.NA, c.pivot.df, c.P)
	}
}
