package rig

import (
	"math"
	"slices"
)

// A Deviation is the standard deviation of the logarithms of a metric from run to run, estimated from DF + 1 runs.
type Deviation struct{ Value, DF float64 }

// A Planner computes how many runs a side a comparison needs. The zero value is ready; a Planner keeps what several
// metrics share.
//
// A deviation from few runs may be far from the true one. So the probabilities are averages over the true
// deviations that the estimate allows for: the true one is Value·√(DF/χ²), where χ² has DF degrees of
// freedom. A plan from three runs then needs more runs than a plan from ten runs with the same deviation, and both
// find the change as often as they say.
type Planner struct {
	designs map[plannedDesign]*welchDesign
	spreads map[float64]*pooledDeviation
}

type plannedDesign struct {
	runs  int
	alpha float64
	exact bool
}

// design returns Welch's test at the level alpha for n runs a side. An average over deviations needs no exact one.
func (p *Planner) design(n int, alpha float64, exact bool) *welchDesign {
	key := plannedDesign{n, alpha, exact}
	if p.designs == nil {
		p.designs = map[plannedDesign]*welchDesign{}
	}
	if p.designs[key] == nil {
		nodes, pooled := 12, 32
		if exact {
			nodes, pooled = 32, 160
		}
		p.designs[key] = welchDesignOf(n, alpha, nodes, pooled)
	}
	return p.designs[key]
}

// smallest returns the smallest effect for n runs a side, in standard deviations.
func (p *Planner) smallest(n int) float64 { return p.design(n, alpha, true).smallest() }

// needed returns the smallest number of runs a side, at least MinRuns, that finds an effect
// given in standard deviations; MaxRunsASide + 1 if MaxRunsASide are too few.
func (p *Planner) needed(effect float64) int {
	// misses computes one power; a search for the smallest effect would compute many.
	return fewestRuns(func(n int) bool { return p.design(n, alpha, true).power(effect) < power })
}

// average returns the average of a probability, which depends on a number of true deviations, where effect is
// this number in estimated deviations.
func (p *Planner) average(effect, df float64, probability func(effect float64) float64) float64 {
	const nodes = 24
	if p.spreads == nil {
		p.spreads = map[float64]*pooledDeviation{}
	}
	if p.spreads[df] == nil {
		p.spreads[df] = newPooledDeviation(df, nodes)
	}
	sum := 0.0
	for i, s := range p.spreads[df].s {
		sum += p.spreads[df].weight[i] * probability(effect*s)
	}
	return sum
}

// ToFind returns the smallest number of runs a side, at least MinRuns, with which Welch's test at the level alpha
// finds a change, 0.05 for +5 %, with the probability power; MaxRunsASide + 1 if MaxRunsASide are too few.
func (p *Planner) ToFind(d Deviation, change, alpha, power float64) int {
	effect := math.Log1p(change) / d.Value
	return fewestRuns(func(n int) bool { return p.average(effect, d.DF, p.design(n, alpha, false).power) < power })
}

// ToExclude returns the smallest number of runs a side, at least MinRuns, that show with the probability power
// that no metric changes by change or more, if none changes; MaxRunsASide + 1 if MaxRunsASide are too few. Each
// metric must pass two one-sided tests at 5 %. all holds the deviations of the metrics.
//
// Each metric alone must pass with the probability power. All together must pass with this probability if they are
// independent and their deviations are the true ones: of several estimates, some are too large, which
// makes up for the others.
func (p *Planner) ToExclude(all []Deviation, change, power float64) int {
	return fewestRuns(func(n int) bool {
		within := p.design(n, 2*alpha, false).within
		product := 1.0
		for _, d := range all {
			product *= within(math.Log1p(change) / d.Value)
		}
		return product < power || slices.ContainsFunc(all, func(d Deviation) bool {
			return p.average(math.Log1p(change)/d.Value, d.DF, within) < power
		})
	})
}
