package inference

import "math"

// A Direction says which way a metric gets better.
type Direction uint8

const (
	// NoDirection is for metrics without good or bad, such as input lengths.
	NoDirection Direction = iota
	// LowerIsBetter is for latencies.
	LowerIsBetter
	// HigherIsBetter is for throughputs.
	HigherIsBetter
)

// A Verdict is the result of a comparison in a word.
type Verdict uint8

const (
	// NotAvailable is the verdict without an interval; the comparison's NA says why.
	NotAvailable Verdict = iota
	// NoDifference means that no difference was found. The interval says how large
	// one could be.
	NoDifference
	// Better is a difference in the metric's good direction.
	Better
	// Worse is a difference in the metric's bad direction.
	Worse
	// Different is a difference in a metric without direction.
	Different
)

// String returns "n/a", "~", "better", "worse" or "different".
func (v Verdict) String() string {
	switch v {
	case NoDifference:
		return "~"
	case Better:
		return "better"
	case Worse:
		return "worse"
	case Different:
		return "different"
	default:
		return "n/a"
	}
}

// Verdict judges a comparison by a p-value: c.P, or the adjusted one of [Adjust] for a
// metric of a family. There is a difference if p ≤ alpha. For c.P and alpha = 0.05
// that is equivalent to a 95 % interval without 0. The adjusted p-value is larger, so a
// metric of a family may be "~" although its 95 % interval leaves out 0; Adjust also gives
// the level whose interval agrees with the verdict.
func (c *Comparison) Verdict(p, alpha float64, d Direction) Verdict {
	switch {
	case c.NA.Missing() || math.IsNaN(p):
		return NotAvailable
	case p > alpha || c.Change == 0:
		return NoDifference
	case d == NoDirection:
		return Different
	case (c.Change < 0) == (d == LowerIsBetter):
		return Better
	default:
		return Worse
	}
}

// Holm returns the adjusted p-values of a family by Holm's method, for tests about
// which nothing but their p-values is known. Judging each of them at alpha, the probability
// of any false finding in the whole family is at most alpha, for any dependence between the
// metrics. The adjusted p-value of the k-th smallest of m is its p-value times m − k + 1, but
// at least the adjusted p-value of the smaller one before and at most 1. A NaN was not tested:
// it stays NaN and does not count in m.
func Holm(p []float64) []float64 {
	adjusted, _ := adjust(plain(p), 1)
	return adjusted
}

// HolmLevels returns the levels of the intervals of Holm's method, see [Adjust]: the k-th smallest of m p-values
// is compared with alpha/(m − k + 1); once one is larger, the following ones are compared with
// the same.
func HolmLevels(p []float64, alpha float64) []float64 {
	_, levels := adjust(plain(p), alpha)
	return levels
}

// plain returns tests that have only p-values.
func plain(p []float64) []Test {
	tests := make([]Test, len(p))
	for i, v := range p {
		tests[i].P = v
	}
	return tests
}
