package inference

import (
	"cmp"
	"math"
	"slices"
)

// A Direction says which way a metric gets better.
type Direction uint8

const (
	// NoDirection is for what is neither good nor bad, such as input lengths.
	NoDirection Direction = iota
	// LowerIsBetter is for latencies.
	LowerIsBetter
	// HigherIsBetter is for throughputs.
	HigherIsBetter
)

// A Verdict is what a comparison comes down to.
type Verdict uint8

const (
	// NotAvailable says that nothing can be said; the comparison's NA tells why.
	NotAvailable Verdict = iota
	// NoDifference was found, which does not prove that there is none: the
	// interval says how large it could be.
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

// Verdict judges a comparison by a p-value: c.P, or, for a metric that is one
// of a family, what [Holm] made of it. There is a difference if p ≤ alpha. With
// c.P and alpha = 0.05 that is the same as a 95 % interval without 0. With
// Holm's it asks for more, so a metric of a family may be "~" although its
// interval leaves out 0.
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

// Holm returns the p-values of a family, adjusted so that judging each of them
// at alpha finds anything that is not there, in the whole family, with a
// probability of at most alpha, whatever the dependence between them: the k-th
// smallest of m is multiplied by m − k + 1, and is at least as large as the
// one before it and at most 1 (Holm, Scandinavian Journal of Statistics 6,
// 1979). A NaN was not tested: it stays NaN and does not count in m.
func Holm(p []float64) []float64 {
	order := make([]int, 0, len(p))
	adjusted := make([]float64, len(p))
	for i, v := range p {
		adjusted[i] = v
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	least := 0.0
	for k, i := range order {
		least = math.Max(least, math.Min(1, p[i]*float64(len(order)-k)))
		adjusted[i] = least
	}
	return adjusted
}
