package rig

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Student's test has the power of R's power.t.test and of G*Power 3.1.
func TestTails(t *testing.T) {
	for _, tt := range []struct {
		n, effect float64
		want      float64
	}{
		{20, 1, 0.8689528},   // the example of R's manual of power.t.test
		{22.02110, 1, 0.9},   // the manual's other example
		{64, 0.5, 0.8014596}, // G*Power's manual
		{20, 0, 0.05},
		{2, 0, 0.05},
		{500, 0, 0.05},
	} {
		df := 2*tt.n - 2
		got := newPooledDeviation(df, 160).tails(inference.StudentQuantile(0.95, df), tt.effect*math.Sqrt(tt.n/2))
		if math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("n %v, effect %v: power %.7f, want %.7f", tt.n, tt.effect, got, tt.want)
		}
	}
	for _, df := range []float64{2, 4, 18, 198} { // without a shift it is Student's t
		for _, x := range []float64{0.5, 2, 5} {
			if got, want := newPooledDeviation(df, 160).tails(x, 0), 2*inference.StudentUpper(x, df); math.Abs(got-want) > 1e-6 {
				t.Errorf("df %v: P(|T| > %v) = %.8f, want %.8f", df, x, got, want)
			}
		}
	}
}

// For many runs Welch's test has the power of Student's, whose sizes at 80 % are known
// (power.t.test of R: 393.41, 63.77, 25.52 and 16.71, rounded up).
func TestSmallestOfManyRuns(t *testing.T) {
	var all planner
	for _, tt := range []struct {
		n      int
		effect float64
	}{{394, 0.2}, {64, 0.5}, {26, 0.8}, {17, 1.0}} {
		if got := all.smallest(tt.n); got > tt.effect {
			t.Errorf("%d runs find %.4f deviations, want at most %v", tt.n, got, tt.effect)
		}
		if got := all.smallest(tt.n - 1); got < tt.effect {
			t.Errorf("%d runs find %.4f deviations, want more than %v", tt.n-1, got, tt.effect)
		}
		if got := all.needed(tt.effect); got != tt.n {
			t.Errorf("%v deviations need %d runs, want %d", tt.effect, got, tt.n)
		}
	}
	if got := all.needed(100); got != MinRuns {
		t.Errorf("a huge effect needs %d runs", got)
	}
	if got := all.needed(0.01); got != MaxRunsASide+1 {
		t.Errorf("a tiny effect needs %d runs", got)
	}
}

// Few runs: the comparison itself finds the smallest change in 80 % of the cases, and no
// change in at most 5 %. The bounds are three standard errors of the simulation.
func TestSmallestBySimulation(t *testing.T) {
	testenv.NoRace(t)
	pairs := 500
	if testenv.IsLong() {
		pairs = 25_000
	}
	const deviation = 0.02
	random := rand.New(rand.NewPCG(1, 2))
	side := func(n int, shift float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(shift + deviation*random.NormFloat64())
		}
		return x
	}
	for _, n := range []int{3, 4, 5, 10} {
		design := welchDesignOf(n, alpha, 32, 160)
		for _, shift := range []float64{0, deviation * design.smallest()} {
			found := 0
			for range pairs {
				if c := inference.Runs(side(n, 0), side(n, shift)); c.P <= alpha {
					found++
				}
			}
			want := design.power(shift / deviation)
			if shift > 0 && math.Abs(want-power) > 1e-5 {
				t.Errorf("n %d: the smallest change has power %v", n, want)
			}
			got := float64(found) / float64(pairs)
			if se := math.Sqrt(want * (1 - want) / float64(pairs)); math.Abs(got-want) > 3*se {
				t.Errorf("%d a side, change %.4f: found in %.2f %%, want %.2f ± %.2f %%", n, math.Expm1(shift), 100*got, 100*want, 300*se)
			}
			if shift == 0 && want > alpha {
				t.Errorf("%d a side: false alarms %v", n, want)
			}
		}
	}
}

// Quantiles of tables of the chi-square distribution.
func TestChiSquareQuantile(t *testing.T) {
	for _, tt := range []struct{ p, df, want float64 }{
		{0.95, 1, 3.841459}, {0.025, 2, 0.05063562}, {0.975, 4, 11.14329}, {0.025, 4, 0.4844186}, {0.5, 10, 9.341818}, {0.975, 100, 129.5612},
	} {
		if got := chiSquareQuantile(tt.p, tt.df); math.Abs(got/tt.want-1) > 1e-6 {
			t.Errorf("quantile %v, df %v: %v, want %v", tt.p, tt.df, got, tt.want)
		}
	}
}
