package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// shortRateLengths holds the numbers of completions of short runs, and steadyRate, the first number at
// which rates are treated as in long runs.
var shortRateLengths = [...]int{30, 60, 100, 300, 700, 1000, 1500, steadyRate}

// fewestRateLengths holds the completions for which the dependence is varied, too.
var fewestRateLengths = [...]int{30, 60, 100, 300, 1500}

const steadyRate = 2000

// mustFail is the largest of shortRateLengths at which some process must show that intervals as wide as
// the interval of a mean would be wrong too often.
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

// A loadKind is how the requests of a run arrive at a server with a number of slots.
type loadKind struct {
	name  string
	slots int
	open  bool // Poisson arrivals, which wait for a slot; otherwise a closed loop
}

var loadKinds = [...]loadKind{
	{"closed loop of 1", 1, false},
	{"closed loop of 4", 4, false},
	{"closed loop of 16", 16, false},
	{"Poisson arrivals, 8 slots, 80 % load", 8, true},
}

// run generates n completions, in their order. The service times have the marginal's
// distribution and the dependence phi in the order of the starts, and the numbers of tokens are
// lognormal. The tokens do not depend on the times, so that they hide the dependence of the times.
func (k *loadKind) run(rng *rand.Rand, m *marginal, phi float64, n int) run {
	service := m.run(rng, phi, n+k.slots)
	free := make([]float64, k.slots) // when each slot is free
	ends := make([]float64, len(service))
	arrival := 0.0
	for i := range service {
		slot := 0
		for j := range free {
			if free[j] < free[slot] {
				slot = j
			}
		}
		start := free[slot]
		if k.open {
			arrival += rng.ExpFloat64() * m.mean / (float64(k.slots) * load)
			start = math.Max(start, arrival)
		}
		free[slot] = start + service[i]
		ends[i] = free[slot]
	}
	slices.Sort(ends)
	r := run{tokens: tokens(rng, n)}
	last := 0.0
	for _, end := range ends[:n] {
		r.durations = append(r.durations, end-last)
		last = end
	}
	return r
}

// A fewRateCell counts given and wrong intervals of rates from fewer than steadyRate completions, and holds their widths.
type fewRateCell struct {
	change interval
	width  []float64
}

// longQueue is the number of completions from which the waits in a queue show a slow rhythm at any φ, so
// that rates may lack an interval.
const longQueue = 1000

// mustAnswer reports whether nearly all rates of n completions must have an interval: if φ is small and
// nothing else makes completions depend on each other. The first completions of the slots of a closed loop come
// together, and a run with fewer than two completions a slot has little else.
func (k *loadKind) mustAnswer(phi float64, n int) bool {
	return phi <= 0.3 && n >= 2*k.slots && (!k.open || n < longQueue)
}

// keeps reports whether no more of the intervals are wrong than promised, and whether nearly all are given
// if they must be.
func (c *fewRateCell) keeps(mustAnswer bool) bool {
	all, given := wrongOf(&c.change)
	if mustAnswer && !c.change.given.within(leastGiven, 1) {
		return false
	}
	return all.within(0, mostMisses) && (c.change.given.ratio() < mostGivenUnnoticed || given.within(0, mostMisses))
}

// fewRates compares the rates of pairs of runs of the same load and service times.
func fewRates(s *simulation, k *loadKind, m *marginal, phi float64, n int) fewRateCell {
	var c fewRateCell
	for _, change := range repeat(s, fmt.Sprintf("few rate %s %s %v %d", k.name, m.name, phi, n), s.shortReps(), func(rng *rand.Rand) inference.Comparison {
		older, newer := k.run(rng, m, phi, n), k.run(rng, m, phi, n)
		return inference.Change(inference.Rate(older.tokens, older.durations), inference.Rate(newer.tokens, newer.durations))
	}) {
		c.change.add(change.NA, change.Interval(level).Contains(0))
		c.width = appendWidth(c.width, &change)
	}
	return c
}
