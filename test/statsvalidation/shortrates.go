package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// shortRateLengths holds the completions of runs whose rates have no interval.
var shortRateLengths = [...]int{60, 100, 300, 500, 700}

// mustFail is the largest of shortRateLengths at which some process must show that the
// intervals would be wrong too often. Between it and the least number of completions, the
// intervals are on the bound.
const mustFail = 300

// A shortRateCell counts how the intervals of rates from few completions would do.
type shortRateCell struct {
	process string
	n       int
	change  interval
}

// shortRates compares the rates of pairs of runs of the same process by the method for means,
// which package inference does not offer for rates of so few completions.
func shortRates(s *simulation, p process, n int) shortRateCell {
	c := shortRateCell{process: p.name, n: n}
	for _, x := range repeat(s, fmt.Sprintf("short rate %s %d", p.name, n), s.shortReps(), func(rng *rand.Rand) inference.Comparison {
		return inference.Change(rateAsMean(p.generate(rng, n)), rateAsMean(p.generate(rng, n)))
	}) {
		c.change.add(x.NA, x.Interval(level).Contains(0))
	}
	return c
}

// rateAsMean estimates the rate tokens/duration as the mean of
// rate·(1 + (tokens − rate·duration)/mean tokens) over the completions. This mean is the rate, and
// its relative error is the relative error of the rate.
func rateAsMean(r run) inference.Estimate {
	tokens, rate := average(r.tokens), average(r.tokens)/average(r.durations)
	x := make([]float64, len(r.tokens))
	for i := range x {
		x[i] = rate * (1 + (r.tokens[i]-rate*r.durations[i])/tokens)
	}
	return inference.NewSeries(x).Mean()
}
