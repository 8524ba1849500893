package rig

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A known deviation needs the runs that rig computes without its uncertainty.
func TestPlannerOfManyRuns(t *testing.T) {
	t.Parallel()
	var p planner
	var w planner
	for _, change := range []float64{0.01, 0.03, 0.05} {
		many := p.toFind(runDeviation{0.01, 1e6}, change, alpha, power)
		if want := w.needed(math.Log1p(change) / 0.01); many != want {
			t.Errorf("%v: %d runs a side, want %d", change, many, want)
		}
		few := p.toFind(runDeviation{0.01, 2}, change, alpha, power)
		if few <= many && many > MinRuns {
			t.Errorf("%v: %d runs a side by the deviation of 3 runs, %d by the deviation of many", change, few, many)
		}
	}
	if got := p.toFind(runDeviation{1, 9}, 0.01, alpha, power); got != MaxRunsASide+1 {
		t.Errorf("a change of a hundredth of the deviation: %d runs a side", got)
	}
	if got := p.toExclude([]runDeviation{{1e-6, 4}}, 0.05, power); got != MinRuns {
		t.Errorf("hardly a deviation: %d runs a side", got)
	}
	// With a known deviation: near 2·(t.95 + t.90)²·s²/δ².
	if got, want := p.toExclude([]runDeviation{{0.03, 1e6}}, 0.05, power), inference.RunsForEquivalence(0.03, 0.05); got < want-1 || got > want+1 {
		t.Errorf("to exclude 5 %% at a deviation of 3 %%: %d runs a side, want about %d", got, want)
	}
}

// Comparisons with as many runs as were planned from some first runs find the change, and exclude it, as often as
// the plan says: 80 times of 100, on average over the first runs.
func TestPlannedRuns(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 21))
	const deviation, change = 0.04, 0.05
	for _, first := range []int{3, 5, 10} {
		replications := 600 / testenv.Stride(3)
		sample := func(n int, mean float64) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Exp(mean + deviation*rng.NormFloat64())
			}
			return x
		}
		var p planner
		planned := map[int][2]int{} // by the estimate in steps of 5 %, which round up
		found, excluded := 0, 0
		for range replications {
			step := int(math.Ceil(math.Log(deviationOf(sample(first, 0))) / 0.05))
			runs, ok := planned[step]
			if !ok {
				d := runDeviation{math.Exp(0.05 * float64(step)), float64(first - 1)}
				runs = [2]int{p.toFind(d, change, alpha, power), p.toExclude([]runDeviation{d}, change, power)}
				planned[step] = runs
			}
			if c := inference.Welch(sample(runs[0], 0), sample(runs[0], math.Log1p(change))); c.P <= alpha {
				found++
			}
			c := inference.Welch(sample(runs[1], 0), sample(runs[1], 0))
			if ends := c.Interval(0.90); ends.High < change && 1/(1+ends.Low) < 1+change {
				excluded++
			}
		}
		for what, n := range map[string]int{"found": found, "excluded": excluded} {
			if share := float64(n) / float64(replications); share < 0.72 || share > 0.91 {
				t.Errorf("planned from %d runs: %s in %.1f %% of comparisons, want about 80 %%", first, what, 100*share)
			}
		}
	}
}

// deviationOf returns the standard deviation of the logarithms.
func deviationOf(x []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += math.Log(v) / float64(len(x))
	}
	for _, v := range x {
		squares += (math.Log(v) - mean) * (math.Log(v) - mean)
	}
	return math.Sqrt(squares / float64(len(x)-1))
}
