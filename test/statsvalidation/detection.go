package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A detectionCell says how often a true change is found.
type detectionCell struct {
	name   string
	shares map[string]share
	order  []string
	least  map[string]float64 // promised shares
}

func (c *detectionCell) add(column string, yes bool) {
	s := c.shares[column]
	if s.of == 0 {
		c.order = append(c.order, column)
	}
	s.add(yes)
	c.shares[column] = s
}

func (c *detectionCell) keeps() (broken string) {
	for column, least := range c.least {
		if s := c.shares[column]; !s.within(least, 1) {
			return fmt.Sprintf("%s: %v, at least %.0f %% are promised", column, s, 100*least)
		}
	}
	if mean, u := c.shares["mean"], c.shares["U test"]; mean.of > 0 && mean.ratio() < u.ratio()-0.03-allowance(0.9, mean.of) {
		return fmt.Sprintf("mean %v, U test %v", mean, u)
	}
	return ""
}

// String formats the shares with their 95 % intervals.
func (c *detectionCell) String() string {
	text := ""
	for i, column := range c.order {
		if i > 0 {
			text += "; "
		}
		low, high := binomialInterval(c.shares[column])
		text += fmt.Sprintf("%s %v (%.1f to %.1f)", column, c.shares[column], 100*low, 100*high)
	}
	return text
}

// binomialInterval returns Wilson's 95 % interval for a share.
func binomialInterval(s share) (low, high float64) {
	n, p := float64(s.of), s.ratio()
	center := (p + normal*normal/(2*n)) / (1 + normal*normal/n)
	half := normal / (1 + normal*normal/n) * math.Sqrt(p*(1-p)/n+normal*normal/(4*n*n))
	return center - half, center + half
}

// detectShort compares runs of 60 requests whose first tokens deviate by 15 %, of which the new ones
// are 10 % slower. A token takes 10 ms with a deviation of 5 %, and answers have five. The verdict is
// the family's, with the means of TTFT and E2EL and the median of TPOT.
func detectShort(s *simulation) detectionCell {
	const n, change = 60, 0.10
	c := detectionCell{
		name: "60 requests a side, 15 % deviation, +10 %", shares: map[string]share{},
		least: map[string]float64{"mean": 0.87, "p50": 0.75, "verdict": 0.85},
	}
	type one struct{ verdict, mean, p50, u, welch bool }
	for _, r := range repeat(s, "detect short", s.shortReps(), func(rng *rand.Rand) one {
		var sides [2]servedRun
		for side := range sides {
			x := &sides[side]
			for range n {
				first, pace := math.Exp(latencyLogSD*rng.NormFloat64())*(1+change*float64(side)), 0.1*math.Exp(jitterLogSD*rng.NormFloat64())
				x.ttft, x.tpot, x.e2e = append(x.ttft, first), append(x.tpot, pace), append(x.e2e, first+4*pace)
			}
		}
		older, newer := sides[0].ttft, sides[1].ttft
		o, w := inference.NewSeries(older), inference.NewSeries(newer)
		mean, p50 := inference.Change(o.Mean(), w.Mean()), inference.Change(o.Quantile(0.5), w.Quantile(0.5))
		meanEnds, p50Ends := mean.Interval(level), p50.Interval(level)
		verdicts := primary(sides[0], sides[1])
		return one{
			slices.Contains(verdicts[:], inference.Worse), meanEnds.Low > 0, p50Ends.Low > 0,
			inference.MannWhitney(older, newer).P <= alpha, alone(older, newer),
		}
	}) {
		c.add("verdict", r.verdict)
		c.add("mean", r.mean)
		c.add("p50", r.p50)
		c.add("U test", r.u)
		c.add("Welch's test", r.welch)
	}
	return c
}

// alone reports whether Welch's test on logarithms finds a difference, for one metric alone.
func alone(older, newer []float64) bool {
	c := inference.Welch(older, newer)
	return c.P <= alpha
}

// detectRuns compares several runs a side whose runs differ by 1 %.
func detectRuns(s *simulation, runs int, what string, firstToken, pace, least float64) detectionCell {
	c := detectionCell{
		name:   fmt.Sprintf("%d runs a side of %d requests, deviation 1 %%, %s %+.0f %%", runs, requestsOfRun, what, 100*math.Max(firstToken, pace)),
		shares: map[string]share{}, least: map[string]float64{"verdict": least},
	}
	metric := 0
	if pace > 0 {
		metric = 1
	}
	type one struct{ any, itself, u, welch bool }
	for _, r := range repeat(s, "detect "+c.name, s.shortReps(), func(rng *rand.Rand) one {
		verdicts, u, welch := familyOfRuns(rng, sides{runs: runs, firstToken: firstToken, pace: pace})
		return one{slices.Contains(verdicts, inference.Worse), verdicts[metric] == inference.Worse, u[metric] <= alpha, welch[metric] <= alpha}
	}) {
		c.add("verdict", r.any)
		c.add("of the metric itself", r.itself)
		c.add("U test", r.u)
		c.add("Welch's test", r.welch)
	}
	return c
}
