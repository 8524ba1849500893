package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// runEffect is by how much runs differ from each other under the same
// settings: the standard deviation of the logarithm of a factor that all gaps
// of a run share.
const runEffect = 0.01

// A runEffectCell says how an interval for the change of the median gap does
// between sides that do not differ but whose runs do.
type runEffectCell struct {
	runs, n  int // a side, and gaps a run
	covered  share
	found    share     // a difference, by the p-value beside the interval
	rank     share     // a difference, by the rank test
	width    []float64 // of the intervals
	promised bool
}

// mostCoverageOfThree is for 3 runs a side, where Welch's t is known to be
// cautious: it covers 97 % of normal values with equal spreads.
const mostCoverageOfThree = 0.98

// keeps: several runs reach their promised coverage. One run a side, which cannot see the
// effect, fails as documented.
func (c *runEffectCell) keeps() bool {
	if c.promised {
		most := mostCoverage
		if c.runs == 3 {
			most = mostCoverageOfThree
		}
		return c.covered.within(leastCoverage, most) && c.found.within(0, 1-leastCoverage) && (c.rank.of == 0 || c.rank.within(0, alpha))
	}
	return c.covered.within(0, leastCoverage)
}

// runEffects simulates sides of so many runs of n gaps.
func runEffects(s *simulation, runs, n int) runEffectCell {
	comparisons := repeat(s, fmt.Sprintf("run effect %d %d", runs, n), s.repetitions(runs*n), func(rng *rand.Rand) inference.Comparison {
		sides := [2][]inference.Estimate{}
		for i := range sides {
			for range runs {
				gaps := make([]float64, n)
				logAR(rng, gaps, gapLogSD)
				factor := math.Exp(runEffect * rng.NormFloat64())
				for k := range gaps {
					gaps[k] *= factor
				}
				sides[i] = append(sides[i], inference.NewSeries(gaps).Quantile(0.5))
			}
		}
		if runs == 1 {
			return inference.Change(sides[0][0], sides[1][0])
		}
		return inference.Runs(values(sides[0]), values(sides[1]))
	})
	c := runEffectCell{runs: runs, n: n, promised: runs > 1}
	for i := range comparisons {
		x := &comparisons[i]
		if x.NA.Missing() {
			continue
		}
		ends := x.Interval(level)
		c.covered.add(ends.Contains(0))
		c.found.add(x.P <= alpha)
		c.width = append(c.width, ends.High-ends.Low)
		if x.Rank != nil && !x.Rank.NA.Missing() {
			c.rank.add(x.Rank.P <= alpha)
		}
	}
	return c
}

func values(e []inference.Estimate) []float64 {
	v := make([]float64, len(e))
	for i := range e {
		v[i] = e[i].Value
	}
	return v
}
