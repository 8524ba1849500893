package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// shortRateLengths holds the completions of short runs. Rates have intervals from 100 on, and are
// treated as in long runs from steadyRate on.
var shortRateLengths = [...]int{60, 100, 300, 500, 700, steadyRate}

const steadyRate = 1000

// mustFail is the largest of shortRateLengths at which some process must show that intervals of
// the width of a mean's would be wrong too often.
const mustFail = 300

// A shortRateCell counts how the intervals of rates from few completions do, and how they would
// do if they were as wide as the interval of a mean.
type shortRateCell struct {
	process        string
	n              int
	change, asMean interval
}

// keeps reports whether no more of the intervals are wrong than promised.
func (c *shortRateCell) keeps() bool {
	_, wrong := wrongOf(&c.change)
	return wrong.of == 0 || c.change.given.ratio() < mostGivenUnnoticed || wrong.within(0, mostMisses)
}

// shortRateProcesses are the processes with the completions of a closed loop.
func shortRateProcesses() []process {
	return append(processes(), process{name: "closed loop of 8", generate: closedLoop})
}

// shortRates compares the rates of pairs of runs of the same process.
func shortRates(s *simulation, p process, n int) shortRateCell {
	c := shortRateCell{process: p.name, n: n}
	for _, both := range repeat(s, fmt.Sprintf("short rate %s %d", p.name, n), s.shortReps(), func(rng *rand.Rand) [2]inference.Comparison {
		older, newer := p.generate(rng, n), p.generate(rng, n)
		return [2]inference.Comparison{
			inference.Change(inference.Rate(older.tokens, older.durations), inference.Rate(newer.tokens, newer.durations)),
			inference.Change(rateAsMean(older), rateAsMean(newer)),
		}
	}) {
		for i, count := range [...]*interval{&c.change, &c.asMean} {
			count.add(both[i].NA, both[i].Interval(level).Contains(0))
		}
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

// closedLoop: 8 requests are always under way, and each takes a time in proportion to its
// tokens, with noise. The run begins with 8 new requests, and its completions come at the
// ends of requests.
func closedLoop(rng *rand.Rand, n int) run {
	const slots, noiseLogSD = 8, 0.1
	var ends, lengths [slots]float64
	begin := func(slot int, at float64) {
		lengths[slot] = math.Exp(logSD * rng.NormFloat64())
		ends[slot] = at + lengths[slot]*math.Exp(noiseLogSD*rng.NormFloat64())
	}
	for slot := range slots {
		begin(slot, 0)
	}
	var r run
	last := 0.0
	for range n {
		first := 0
		for slot := range slots {
			if ends[slot] < ends[first] {
				first = slot
			}
		}
		r.latencies = append(r.latencies, lengths[first])
		r.tokens, r.durations = append(r.tokens, lengths[first]), append(r.durations, ends[first]-last)
		last = ends[first]
		begin(first, last)
	}
	return r
}
