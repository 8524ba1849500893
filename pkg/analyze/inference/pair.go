package inference

import (
	"fmt"
	"math"
)

// Pairs are the values of two runs for the same prompts, such as their times to
// first token, in the order in which the prompts were sent. Differences between
// prompts cancel. Dependence between neighbouring pairs is treated as in a [Series].
// Like [Change], it compares these two runs only.
//
// It is not safe for concurrent use.
type Pairs struct {
	oldLogs, newLogs *Series
	ratios           *Series // of ln(new/old)
	older, newer     *Series
	na               NA
}

// NewPairs returns the pairs older[i], newer[i], which must be as many and
// positive, or all estimates are n/a. It keeps both slices and does not change
// them. Leave out the prompts that failed on either side.
func NewPairs(older, newer []float64) *Pairs {
	p := &Pairs{older: NewSeries(older), newer: NewSeries(newer)}
	if len(older) != len(newer) {
		p.na = NA{Reason: fmt.Sprintf("%d old values but %d new ones", len(older), len(newer))}
		return p
	}
	oldLogs, newLogs, ratios := make([]float64, len(older)), make([]float64, len(older)), make([]float64, len(older))
	for i := range older {
		if !usable(older[i]) || !usable(newer[i]) || older[i] <= 0 || newer[i] <= 0 {
			p.na = NA{Reason: fmt.Sprintf("pair %d is %v and %v, which has no usable ratio", i, older[i], newer[i])}
			return p
		}
		oldLogs[i], newLogs[i] = math.Log(older[i]), math.Log(newer[i])
		ratios[i] = newLogs[i] - oldLogs[i]
	}
	p.oldLogs, p.newLogs = newSeries(oldLogs, "pairs"), newSeries(newLogs, "pairs")
	p.ratios = newSeries(ratios, "pairs")
	return p
}

// Mean compares geometric means: the change is the average change of the pairs on the
// logarithmic scale.
func (p *Pairs) Mean() Comparison {
	if p.na.Missing() {
		return p.missing()
	}
	return paired(exponentiated(p.oldLogs.anyMean(false)), exponentiated(p.newLogs.anyMean(false)), p.ratios.anyMean(false))
}

// Median gives the median over the pairs of new/old − 1. The values of the
// sides are their medians; the median of the ratios is not their ratio.
func (p *Pairs) Median() Comparison {
	if p.na.Missing() {
		return p.missing()
	}
	return paired(p.older.Quantile(0.5), p.newer.Quantile(0.5), p.ratios.Quantile(0.5))
}

func (p *Pairs) missing() Comparison {
	older, newer := unavailable(math.NaN(), len(p.older.x), p.na.Reason), unavailable(math.NaN(), len(p.newer.x), p.na.Reason)
	c := compare(older, newer)
	c.NA = p.na
	return c
}

// paired makes a comparison of an estimate of ln(new/old).
func paired(older, newer, ratio Estimate) Comparison {
	c := Comparison{Old: older, New: newer, Change: math.Expm1(ratio.Value), P: math.NaN(), NA: ratio.NA}
	if !c.NA.Missing() {
		c.pivot = ratio.pivot
		c.P = c.pivot.pValue()
	}
	return c
}

// exponentiated turns an estimate of a logarithm into one of the value.
func exponentiated(e Estimate) Estimate {
	e.Value = math.Exp(e.Value)
	if ends := e.pivot.ends; ends != nil {
		e.pivot.ends = func(t float64) Interval {
			log := ends(t)
			return Interval{math.Exp(log.Low), math.Exp(log.High)}
		}
	}
	return e
}
