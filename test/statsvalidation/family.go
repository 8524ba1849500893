package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

const (
	alpha       = 0.05
	gapNS       = 20e6  // median time per token
	prefillNS   = 50e6  // of a latency of 1
	gapLogSD    = 0.10  // of the speed, as in the power table
	jitterLogSD = 0.05  // of a request against its neighbours
	tokensEach  = 100.0 // of an answer, on average
)

// A servedRun is a run of requests with the metrics of the primary family that have
// intervals. Its first tokens follow one of the processes, its time per token a speed of
// the server that changes slowly, and the end-to-end latencies are made of both, so that
// the metrics are related as they are in a real run.
type servedRun struct {
	ttft, tpot, e2e   []float64
	tokens, durations []float64
}

// familySize is the number of metrics of a servedRun.
const familySize = 4

func served(rng *rand.Rand, p process, n int) servedRun {
	base := p.generate(rng, n)
	s := servedRun{
		ttft: make([]float64, n), tpot: make([]float64, n), e2e: make([]float64, n),
		tokens: make([]float64, n), durations: base.durations,
	}
	speed := make([]float64, n)
	logAR(rng, speed, gapLogSD)
	for i := range n {
		s.ttft[i] = prefillNS * base.latencies[i]
		s.tpot[i] = gapNS * speed[i] * math.Exp(jitterLogSD*rng.NormFloat64())
		s.e2e[i] = s.ttft[i] + tokensEach*s.tpot[i]
		s.tokens[i] = tokensEach * base.tokens[i]
	}
	return s
}

// fewCompletions is the number of completions from which on a rate is judged.
const fewCompletions = 200

// primary compares the primary family of two single runs and returns its verdicts under Holm: the
// means of TTFT and E2EL, the median of TPOT, and the rate if there are enough completions.
func primary(older, newer servedRun) [familySize]inference.Verdict {
	mean := func(o, n []float64) inference.Comparison {
		return inference.Change(inference.NewSeries(o).Mean(), inference.NewSeries(n).Mean())
	}
	rate := inference.Comparison{P: math.NaN(), NA: inference.NA{Reason: "too few completions"}}
	if min(len(older.tokens), len(newer.tokens)) >= fewCompletions {
		rate = inference.Change(inference.Rate(older.tokens, older.durations), inference.Rate(newer.tokens, newer.durations))
	}
	return judged([familySize]inference.Comparison{
		mean(older.ttft, newer.ttft),
		inference.Change(inference.NewSeries(older.tpot).Quantile(0.5), inference.NewSeries(newer.tpot).Quantile(0.5)),
		mean(older.e2e, newer.e2e), rate,
	})
}

// judged returns the verdicts of a family under Holm. The last metric is a rate.
func judged(family [familySize]inference.Comparison) (verdicts [familySize]inference.Verdict) {
	tests := make([]inference.Test, len(family))
	for i := range family {
		tests[i].P = family[i].P
	}
	adjusted, _ := inference.Adjust(tests, alpha)
	copy(verdicts[:], verdictsOf(family[:], adjusted))
	return verdicts
}

// verdictsOf returns the verdicts by the adjusted p-values. The metric after the three latencies
// is a rate.
func verdictsOf(family []inference.Comparison, adjusted []float64) []inference.Verdict {
	verdicts := make([]inference.Verdict, len(family))
	for i := range family {
		direction := inference.LowerIsBetter
		if i == familySize-1 {
			direction = inference.HigherIsBetter
		}
		verdicts[i] = family[i].Verdict(adjusted[i], alpha, direction)
	}
	return verdicts
}

// A familyCell holds the findings of the primary family between two equal runs.
type familyCell struct {
	process      string
	n            int
	given        share // of the metrics
	worse, found share // of the comparisons: at least one "worse"; one finding of either kind
}

// keeps: no more than 5 % of the comparisons call anything worse. Findings of
// either kind are right at the level where the metrics are few, so they have
// the room that the intervals have.
func (c *familyCell) keeps() bool {
	return c.worse.within(0, alpha) && c.found.within(0, 1-leastCoverage)
}

func families(s *simulation, p process, n int) familyCell {
	verdicts := repeat(s, fmt.Sprintf("family %s %d", p.name, n), s.repetitions(n), func(rng *rand.Rand) [familySize]inference.Verdict {
		return primary(served(rng, p, n), served(rng, p, n))
	})
	c := familyCell{process: p.name, n: n}
	for _, all := range verdicts {
		worse, found := false, false
		for _, v := range all {
			c.given.add(v != inference.NotAvailable)
			worse = worse || v == inference.Worse
			found = found || v == inference.Worse || v == inference.Better
		}
		c.worse.add(worse)
		c.found.add(found)
	}
	return c
}
