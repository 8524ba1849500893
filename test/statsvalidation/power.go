package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// leastPower is how often a change of 5 % must be found.
const leastPower = 0.90

// A powerCell says how often a true change of the median gap is found between
// two runs of n gaps, whose logarithms are an AR(1) process with ρ = 0.8 and a
// standard deviation of 0.10.
type powerCell struct {
	n        int
	change   float64
	alone    share // "worse" at the 5 % level
	hardest  share // "worse" at 1 %: Holm's first step in a family of five
	promised bool
}

func (c *powerCell) keeps() bool { return !c.promised || c.hardest.within(leastPower, 1) }

func power(s *simulation, n int, change float64) powerCell {
	verdicts := repeat(s, fmt.Sprintf("power %d %v", n, change), s.repetitions(n), func(rng *rand.Rand) [2]inference.Verdict {
		older, newer := make([]float64, n), make([]float64, n)
		logAR(rng, older, gapLogSD)
		logAR(rng, newer, gapLogSD)
		for i := range newer {
			newer[i] *= 1 + change
		}
		c := inference.Change(inference.NewSeries(older).Quantile(0.5), inference.NewSeries(newer).Quantile(0.5))
		return [2]inference.Verdict{
			c.Verdict(c.P, alpha, inference.LowerIsBetter),
			c.Verdict(c.P, alpha/5, inference.LowerIsBetter),
		}
	})
	c := powerCell{n: n, change: change, promised: n == 2000 && change == 0.05}
	for _, v := range verdicts {
		c.alone.add(v[0] == inference.Worse)
		c.hardest.add(v[1] == inference.Worse)
	}
	return c
}
