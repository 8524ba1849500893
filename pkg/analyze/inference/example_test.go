package inference_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Two runs of 4000 requests, then five runs a side.
func Example() {
	rng := rand.New(rand.NewPCG(1, 1))
	ttft := func(n int, median float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = median * math.Exp(0.3*rng.NormFloat64())
		}
		return x
	}
	older, newer := inference.NewSeries(ttft(4000, 200)), inference.NewSeries(ttft(4000, 220))
	names := []string{"p50", "p99", "p99.9"}
	var changes []inference.Comparison
	var ps []float64
	for _, p := range []float64{0.5, 0.99, 0.999} {
		c := inference.Change(older.Quantile(p), newer.Quantile(p))
		changes, ps = append(changes, c), append(ps, c.P)
	}
	for i, adjusted := range inference.Holm(ps) {
		c := &changes[i]
		if c.NA.Missing() {
			fmt.Printf("%s %+.1f %% %v\n", names[i], 100*c.Change, c.NA)
			continue
		}
		ends := c.Interval(0.95)
		fmt.Printf("%s %+.1f %% (%+.1f to %+.1f) %v\n", names[i], 100*c.Change, 100*ends.Low, 100*ends.High,
			c.Verdict(adjusted, 0.05, inference.LowerIsBetter))
	}

	runs := inference.Runs([]float64{199, 203, 201, 198, 200}, []float64{202, 199, 205, 201, 200})
	ends := runs.Interval(0.95)
	fmt.Printf("runs %+.1f %% (%+.1f to %+.1f) %v\n", 100*runs.Change, 100*ends.Low, 100*ends.High,
		runs.Verdict(runs.P, 0.05, inference.LowerIsBetter))
	// Output:
	// p50 +10.4 % (+8.8 to +12.2) worse
	// p99 +9.8 % (+2.9 to +16.6) worse
	// p99.9 +3.0 % (-1.8 to +11.4) ~
	// runs +0.6 % (-1.0 to +2.2) ~
}
