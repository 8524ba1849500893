package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/answer"
)

// The percentiles equal, to the last digit, the percentiles of all quotients and products in float64, sorted: for requests
// with a token an event, several tokens spread evenly, counted tokens (few, many, and none in some events),
// and requests without values, in any order, with gaps below 0 and beyond 32 bits, in memory and in the file.
func TestPerTokenEqualsFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	dir := t.TempDir()
	for round := range 60 / testenv.Stride(5) {
		memory := stat.NewStore([]int64{0, 20_000}[round%2], dir)
		itl := Sample[int64]{Memory: memory}
		c := PerToken{Memory: memory}
		var want []float64
		kinds := []int{rng.IntN(5), rng.IntN(5)}
		for range 1 + rng.IntN(400) {
			var gaps []int64
			var tokens []int32
			factor := 0.0
			for range rng.IntN(40) {
				g := rng.Int64N(25e6)
				if round%3 == 0 {
					g = g*rng.Int64N(500) - 1000
				}
				gaps = append(gaps, g)
			}
			switch kinds[rng.IntN(2)] {
			case 0:
				factor = 1
			case 1:
				factor = float64(1+rng.IntN(50)) / float64(1+rng.IntN(150))
			case 2, 3:
				most := []int32{1, 4, 1000}[rng.IntN(3)]
				for range gaps {
					tokens = append(tokens, rng.Int32N(most+1))
				}
				answer.EachShared(gaps, tokens, func(_ int, ns int64, n int32) {
					for range n {
						want = append(want, float64(ns)/float64(n))
					}
				})
			}
			for _, g := range gaps {
				if factor > 0 {
					want = append(want, float64(g)*factor)
				}
			}
			before := itl.Sums
			itl.Add(gaps...)
			c.Add(gaps, tokens, factor, &itl, itl.Since(before))
		}
		c.Finish(&itl)
		got := c.Summary(itl.Summary())
		if err := memory.Close(); err != nil || c.Err != nil {
			t.Fatal(err, c.Err)
		}
		if len(want) == 0 {
			if got != nil {
				t.Fatalf("round %d: %+v, want none", round, got)
			}
			continue
		}
		slices.Sort(want)
		var sum stat.Sum
		for _, v := range want {
			sum.Add(v)
		}
		mean := sum.Value() / float64(len(want))
		std := math.Sqrt(stat.Squares(0, want, mean) / float64(len(want)))
		if got == nil || got.N != len(want) || got.Min != want[0] || got.Max != want[len(want)-1] {
			t.Fatalf("round %d: %+v, want %d values from %v to %v", round, got, len(want), want[0], want[len(want)-1])
		}
		for i, level := range Levels {
			if p := stat.Quantile(want, level/100); got.Pct[i] != p {
				t.Errorf("round %d: p%v is %v, want %v", round, level, got.Pct[i], p)
			}
		}
		if math.Abs(got.Mean-mean) > 1e-14*math.Abs(mean) || math.Abs(got.Std-std) > 1e-12*std {
			t.Errorf("round %d: mean %v, deviation %v; want %v, %v", round, got.Mean, got.Std, mean, std)
		}
	}
}
