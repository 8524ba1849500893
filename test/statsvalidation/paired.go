package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A pairedCell says how the comparison by prompt does: each latency is
// the latency of the prompt (log-sd 0.5, the same on both sides) times a factor
// of the server, with log-sd 0.10 and an AR(1) process of its own on each side.
// The new side is 2 % slower.
type pairedCell struct {
	n                int
	mean, median     interval
	paired, unpaired []float64 // widths of the intervals for the median
}

const pairedChange = 0.02

func (c *pairedCell) keeps() bool { return c.mean.keeps(0.5, false) && c.median.keeps(0.5, false) }

func pairs(s *simulation, n int) pairedCell {
	type one struct{ mean, median, unpaired inference.Comparison }
	results := repeat(s, fmt.Sprintf("paired %d", n), s.repetitions(n), func(rng *rand.Rand) one {
		older, newer := make([]float64, n), make([]float64, n)
		logAR(rng, older, gapLogSD)
		logAR(rng, newer, gapLogSD)
		for i := range older {
			prompt := math.Exp(logSD * rng.NormFloat64())
			older[i] *= prompt
			newer[i] *= prompt * (1 + pairedChange)
		}
		p := inference.NewPairs(older, newer)
		return one{p.Mean(), p.Median(), inference.Change(inference.NewSeries(older).Quantile(0.5), inference.NewSeries(newer).Quantile(0.5))}
	})
	c := pairedCell{n: n}
	for i := range results {
		r := &results[i]
		c.mean.add(r.mean.NA, r.mean.Interval(level).Contains(pairedChange))
		c.median.add(r.median.NA, r.median.Interval(level).Contains(pairedChange))
		c.paired = appendWidth(c.paired, &r.median)
		c.unpaired = appendWidth(c.unpaired, &r.unpaired)
	}
	return c
}

func appendWidth(w []float64, c *inference.Comparison) []float64 {
	if c.NA.Missing() {
		return w
	}
	ends := c.Interval(level)
	return append(w, ends.High-ends.Low)
}

// middle returns the upper median of the widths in percentage points, or a dash.
func middle(widths []float64) string {
	if len(widths) == 0 {
		return "–"
	}
	slices.Sort(widths)
	return fmt.Sprintf("%.2f", 100*widths[len(widths)/2])
}
