package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

const level = 0.95

// The least coverage of a 95 % interval, and the largest share of all runs with an
// interval that misses, also in cells that are n/a.
const (
	leastCoverage = 0.93
	mostCoverage  = 0.97
	mostMisses    = 0.07
)

// A statistic is a column of the table: a quantile if p > 0, else the rate or
// the mean.
type statistic struct {
	name string
	p    float64
	rate bool
}

var statistics = [...]statistic{{name: "mean"}, {name: "p50", p: 0.5}, {name: "p90", p: 0.9}, {name: "p99", p: 0.99}, {name: "rate", rate: true}}

func (s statistic) of(series *inference.Series, r run) inference.Estimate {
	switch {
	case s.rate:
		return inference.Rate(r.tokens, r.durations)
	case s.p > 0:
		return series.Quantile(s.p)
	default:
		return series.Mean()
	}
}

func (s statistic) truth(t truth) float64 {
	switch {
	case s.rate:
		return t.rate
	case s.p > 0:
		return t.quantile[s.p]
	default:
		return t.mean
	}
}

// A coverageCell is a row of the table.
type coverageCell struct {
	process   string
	n         int
	statistic string
	p         float64 // the quantile; 0 for others

	value, change           interval
	naiveValue, naiveChange share
}

func (c *coverageCell) shortRate() bool { return c.statistic == "rate" && c.n < steadyRate }

// An interval is how one kind of interval did in one cell.
type interval struct {
	given   share // of all repetitions
	covered share // of the given intervals
	missed  share // given and wrong, of all
}

func (i *interval) add(na inference.NA, covered bool) {
	i.given.add(!na.Missing())
	if !na.Missing() {
		i.covered.add(covered)
	}
	i.missed.add(!na.Missing() && !covered)
}

// promised tells whether the rule gives an interval in most repetitions.
func (i *interval) promised() bool { return 2*i.given.yes > i.given.of }

// keeps reports whether an interval for the quantile p, ½ for others, keeps its promise.
// Intervals of tails reach from one of few values to another, and intervals of rates of short runs
// are wider because of processes that need it; both may cover more.
func (i *interval) keeps(p float64, shortRate bool) bool {
	most := mostCoverage
	if p > 0.5 || shortRate {
		most = 1
	}
	if i.promised() && !i.covered.within(leastCoverage, most) {
		return false
	}
	return i.missed.within(0, mostMisses)
}

func (i *interval) String() string {
	if i.promised() {
		return i.covered.String()
	}
	return "n/a"
}

// coverage fills the cells of one process and length: pairs of independent
// runs of the same process, so that the true change is 0.
func coverage(s *simulation, p process, n int) []coverageCell {
	type one struct {
		oldNA, changeNA inference.NA
		value, change   bool
		naive           naiveCovers
	}
	results := repeat(s, coverageName(p, n), s.repetitions(n), func(rng *rand.Rand) (all [len(statistics)]one) {
		older, newer := p.generate(rng, n), p.generate(rng, n)
		oldSeries, newSeries := inference.NewSeries(older.latencies), inference.NewSeries(newer.latencies)
		naive := naiveCoverage(p, older, newer)
		for i, st := range statistics {
			o, w := st.of(oldSeries, older), st.of(newSeries, newer)
			c := inference.Change(o, w)
			all[i] = one{
				oldNA: o.NA, changeNA: c.NA,
				value:  o.Interval(level).Contains(st.truth(p.truth)),
				change: c.Interval(level).Contains(0),
				naive:  naive[i],
			}
		}
		return all
	})
	cells := make([]coverageCell, len(statistics))
	for i, st := range statistics {
		c := &cells[i]
		c.process, c.n, c.statistic, c.p = p.name, n, st.name, st.p
		for _, r := range results {
			c.value.add(r[i].oldNA, r[i].value)
			c.change.add(r[i].changeNA, r[i].change)
			c.naiveValue.add(r[i].naive.value)
			c.naiveChange.add(r[i].naive.change)
		}
	}
	return cells
}

// coverageName returns the name for [repeat] of the cells of a process and length.
func coverageName(p process, n int) string { return fmt.Sprintf("coverage %s %d", p.name, n) }

// naiveCovers tells whether the naive intervals of two runs contain the truth: the value of the
// older run, and the change, which is 0.
type naiveCovers struct{ value, change bool }

// naiveCoverage compares the naive intervals of two runs of a process with the truth, for each
// statistic.
func naiveCoverage(p process, older, newer run) (all [len(statistics)]naiveCovers) {
	oldSorted, newSorted := slices.Sorted(slices.Values(older.latencies)), slices.Sorted(slices.Values(newer.latencies))
	for i, st := range statistics {
		oldValue, oldInterval := naive(st, older, oldSorted)
		newValue, newInterval := naive(st, newer, newSorted)
		all[i] = naiveCovers{
			value:  oldInterval.Contains(st.truth(p.truth)),
			change: naiveChange(oldValue, oldInterval, newValue, newInterval).Contains(0),
		}
	}
	return all
}
