package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A marginal is a distribution of latencies. A run of dependent latencies comes from a
// Gaussian AR(1) process; each value is replaced by the quantile of the same
// probability.
type marginal struct {
	name string
	of   func(z float64) float64 // the quantile of probability Φ(z)
	mean float64
}

// run generates n latencies; the correlation from one to the next is phi before they are
// replaced.
func (m *marginal) run(rng *rand.Rand, phi float64, n int) []float64 {
	x := make([]float64, n)
	z, innovation := rng.NormFloat64(), math.Sqrt(1-phi*phi)
	for i := range x {
		x[i] = m.of(z)
		z = phi*z + innovation*rng.NormFloat64()
	}
	return x
}

// marginals returns the distributions of short runs.
func marginals() []marginal {
	const (
		fast     = 0.7 // of the bimodal requests, which find their prefix in a cache
		fastTime = 1.0
		slowTime = 2.0
		narrow   = 0.1
		wide     = 0.2
	)
	inverse := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	return []marginal{
		{"normal, deviation 15 %", func(z float64) float64 { return 1 + 0.15*z }, 1},
		{"lognormal, log-sd 0.5", func(z float64) float64 { return math.Exp(logSD * z) }, math.Exp(meanLog)},
		{"bimodal, 30 % twice as long", func(z float64) float64 {
			switch p := normalBelow(z); {
			case p < fast:
				return fastTime + narrow*inverse(math.Max(p/fast, 1e-12))
			default:
				return slowTime + wide*inverse(math.Min((p-fast)/(1-fast)+1e-12, 1-1e-12))
			}
		}, fast*fastTime + (1-fast)*slowTime},
		{"Poisson arrivals, their gaps", func(z float64) float64 { return -math.Log(normalBelow(-z)) }, 1},
	}
}

// shortStatistics are the columns of the table of short runs.
var shortStatistics = [...]statistic{{name: "mean"}, {name: "p50", p: 0.5}, {name: "p90", p: 0.9}, {name: "p99", p: 0.99}}

// mostGivenUnnoticed is the share of intervals that a cell may give without being held
// to their coverage.
const mostGivenUnnoticed = 0.05

// leastGiven is the share of the means and medians of at least 30 nearly independent
// requests that must have an interval.
const leastGiven = 0.97

// A shortCell is a row of the table of short runs: pairs of runs of the same process.
type shortCell struct {
	values     string
	phi        float64
	older, new int // requests
	change     [len(shortStatistics)]interval
	width      [len(shortStatistics)][]float64
}

// wrongOf returns the shares of wrong intervals: of all repetitions, and of the repetitions
// with an interval.
func wrongOf(i *interval) (all, given share) {
	return i.missed, share{i.missed.yes, i.given.yes}
}

// keeps reports whether no column gives more wrong intervals than promised, and whether
// the nearly independent ones are given.
func (c *shortCell) keeps() (broken string) {
	for i := range c.change {
		x := &c.change[i]
		all, given := wrongOf(x)
		if !all.within(0, mostMisses) {
			return fmt.Sprintf("%s: %v wrong", shortStatistics[i].name, all)
		}
		if x.given.ratio() >= mostGivenUnnoticed && given.of > 0 && !given.within(0, mostMisses) {
			return fmt.Sprintf("%s: of %v given, %v wrong", shortStatistics[i].name, x.given, given)
		}
		few := shortStatistics[i].p > 0.5
		const enough = 20 // repetitions, fewer say nothing about a share near 1
		if !few && x.given.of >= enough && c.phi <= 0.3 && min(c.older, c.new) >= 30 && !x.given.within(leastGiven, 1) {
			return fmt.Sprintf("%s: only %v given", shortStatistics[i].name, x.given)
		}
	}
	return ""
}

// cells formats the columns: "given; wrong; median width".
func (c *shortCell) cells() []string {
	var cells []string
	for i := range c.change {
		x := &c.change[i]
		if x.given.yes == 0 {
			cells = append(cells, "n/a")
			continue
		}
		_, given := wrongOf(x)
		cells = append(cells, fmt.Sprintf("%v; %v; %s", x.given, given, middle(slices.Clone(c.width[i]))))
	}
	return cells
}

func short(s *simulation, m marginal, phi float64, older, newer int) shortCell {
	c := shortCell{values: m.name, phi: phi, older: older, new: newer}
	results := repeat(s, fmt.Sprintf("short %s %v %d %d", m.name, phi, older, newer), s.shortReps(), func(rng *rand.Rand) (all [len(shortStatistics)]inference.Comparison) {
		o, n := inference.NewSeries(m.run(rng, phi, older)), inference.NewSeries(m.run(rng, phi, newer))
		for i, st := range shortStatistics {
			all[i] = inference.Change(st.of(o, run{}), st.of(n, run{}))
		}
		return all
	})
	for i := range results {
		for j := range results[i] {
			x := &results[i][j]
			c.change[j].add(x.NA, x.Interval(level).Contains(0))
			c.width[j] = appendWidth(c.width[j], x)
		}
	}
	return c
}

// shortReps returns the repetitions of a cell of the table of short runs: half of the
// others, because it has many cells.
func (s *simulation) shortReps() int { return max(1, s.reps/2) }
