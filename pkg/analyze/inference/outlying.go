package inference

import (
	"math"
	"slices"
)

const (
	minOutlyingRuns = 4    // of a side, so that the others have a deviation
	outlyingAlpha   = 0.01 // for all runs of both sides
	outlyingFactor  = 1.1  // or its inverse: a smaller difference matters to nobody
	mostVariance    = 2    // of a side, divided by the other's, if their deviations are taken together
)

// An OutlyingRun is a run whose value differs from the other runs of its side by more than they
// differ from each across. A cold cache often makes the first run one.
type OutlyingRun struct {
	New    bool    // the run belongs to the new side
	Run    int     // index in its side
	Factor float64 // value divided by the geometric mean of the other runs of its side
	P      float64 // two-sided p-value of the run, not adjusted for the number of runs
}

// OutlyingRuns returns the outlying runs of a metric in the order of the sides, from one value per
// run. A run is outlying if P times the number of all runs is at most 1 %, and its value differs
// by more than the factor 1.1. A side with fewer than 4 runs has none. The other side may be empty. If a
// value has no logarithm, there are none.
//
// P comes from the externally studentized residual of ln(value) (Cook and Weisberg, Residuals and
// Influence in Regression, 1982): the distance to the mean of the others divided by
// s·√(1 + 1/(k−1)). s is the deviation of the others of the side, with k − 2 degrees of freedom.
// If the variance of the side is at most twice the variance of the other side, s is also taken
// from both sides together, which helps a side of few runs; P is then twice the smaller of the two
// p-values. The other side counts without its run of the same index, because a cold cache slows
// the first run of each side, and at most with as many degrees of freedom as the side itself.
func OutlyingRuns(older, newer []float64) []OutlyingRun {
	var logs [2][]float64
	for side, values := range [...][]float64{older, newer} {
		for _, v := range values {
			if !usable(v) || v <= 0 {
				return nil
			}
			logs[side] = append(logs[side], math.Log(v))
		}
	}
	var outlying []OutlyingRun
	for side, values := range logs {
		if len(values) < minOutlyingRuns {
			continue
		}
		for i, v := range values {
			others, across := spreadWithout(values, i), spreadWithout(logs[1-side], i)
			run := OutlyingRun{New: side == 1, Run: i, Factor: math.Exp(v - others.mean), P: others.pOf(v, across)}
			if run.P*float64(len(older)+len(newer)) <= outlyingAlpha && max(run.Factor, 1/run.Factor) > outlyingFactor {
				outlying = append(outlying, run)
			}
		}
	}
	return outlying
}

// A runSpread is the spread of the logarithms of per-run values.
type runSpread struct {
	n, mean, squares float64 // squares is the sum of squared distances from the mean
}

// spreadWithout returns the spread of the runs of a side without run i, if there is one.
func spreadWithout(logs []float64, i int) runSpread {
	if i < len(logs) {
		logs = slices.Concat(logs[:i], logs[i+1:])
	}
	s := runSpread{n: float64(len(logs)), mean: vectorOf(slice(logs)).mean()}
	for _, v := range logs {
		s.squares += square(v - s.mean)
	}
	if allEqual(logs) { // squares may be off 0 by rounding
		s.squares = 0
	}
	return s
}

// variance returns the variance of a value; NaN below two values.
func (s *runSpread) variance() float64 { return s.squares / (s.n - 1) }

// pOf returns the p-value of another run of the side with the value v, see [OutlyingRuns].
func (s *runSpread) pOf(v float64, across runSpread) float64 {
	p := func(variance, df float64) float64 {
		if v == s.mean {
			return 1
		}
		return 2 * StudentUpper(math.Abs(v-s.mean)/math.Sqrt(variance*(1+1/s.n)), df)
	}
	alone := p(s.variance(), s.n-1)
	if !(across.n > 1) || s.variance() > mostVariance*across.variance() {
		return alone
	}
	weight := math.Min(s.n, across.n) - 1
	together := p((s.squares+weight*across.variance())/(s.n-1+weight), s.n-1+weight)
	if s.squares == 0 { // values on a coarse grid, whose deviation is not 0
		return together
	}
	return math.Min(1, 2*math.Min(alone, together))
}
