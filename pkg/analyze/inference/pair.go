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
	ratios       *Series // of ln(new/old)
	older, newer *Series
	na           NA
}

// NewPairs returns the pairs older[i], newer[i], which must be as many and
// positive, or all estimates are n/a. It keeps both slices and does not change
// them. Leave out the prompts that failed on either side.
func NewPairs(older, newer []float64) *Pairs { return PairsOf(slice(older), slice(newer)) }

// PairsOf is [NewPairs] for values that may not be in memory.
func PairsOf(older, newer Values) *Pairs {
	p := &Pairs{older: SeriesOf(older), newer: SeriesOf(newer)}
	if older.Len() != newer.Len() {
		p.na = NA{Reason: fmt.Sprintf("%d old values but %d new ones", older.Len(), newer.Len())}
		return p
	}
	o, n := p.older.x, p.newer.x
	for i := range older.Len() {
		if a, b := o.at(i), n.at(i); !usable(a) || !usable(b) || a <= 0 || b <= 0 {
			p.na = NA{Reason: fmt.Sprintf("pair %d is %v and %v, which has no usable ratio", i, a, b)}
			return p
		}
	}
	p.ratios = newSeries(older.Make(older.Len(), func(i int) float64 { return math.Log(n.at(i)) - math.Log(o.at(i)) }), "pairs")
	return p
}

// Mean compares geometric means: the change is the average change of the pairs on the
// logarithmic scale.
func (p *Pairs) Mean() Comparison {
	if p.na.Missing() {
		return p.missing()
	}
	logs := func(s *Series) *Series {
		return newSeries(s.x.Make(s.x.Len(), func(i int) float64 { return math.Log(s.x.at(i)) }), "pairs")
	}
	return paired(exponentiated(logs(p.older).anyMean(false, true)), exponentiated(logs(p.newer).anyMean(false, true)), p.ratios.anyMean(false, true))
}

// Median gives the median over the pairs of new/old − 1. The values of the
// sides are their medians; the median of the ratios is not their ratio.
func (p *Pairs) Median() Comparison {
	if p.na.Missing() {
		return p.missing()
	}
	return paired(p.older.Quantile(0.5), p.newer.Quantile(0.5), p.ratios.anyQuantile(0.5))
}

func (p *Pairs) missing() Comparison {
	older, newer := unavailable(math.NaN(), p.older.x.Len(), p.na.Reason), unavailable(math.NaN(), p.newer.x.Len(), p.na.Reason)
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
