package inference

import (
	"fmt"
	"math"
)

// A Series is the values of one run in the order of time: one per request, or
// one per gap between tokens. The order carries the dependence between
// neighbours, so it must be one and the same throughout: by the time the
// request was sent, say, or by the time the gap ended.
//
// It is not safe for concurrent use.
type Series struct {
	x      *vector
	sorted *vector // nil before the first quantile
	noun   string  // the name of a value in reasons: "request"
	bad    string  // why there are no estimates; empty if there are
	nested bool    // see [NewGaps]
	fit    *autoregression
}

// NewSeries returns a series of the values, which it keeps and does not
// change. Values that are not finite, or beyond 1e±150, make all estimates
// n/a; leave them out before, if leaving them out is right.
func NewSeries(values []float64) *Series { return SeriesOf(slice(values)) }

// SeriesOf is [NewSeries] for values that may not be in memory.
func SeriesOf(values Values) *Series { return newSeries(values, "values") }

// GapsOf returns a series of the gaps between tokens, or of other values that each request has several
// of. Values of one request resemble each other, which a short series does not show: it has no
// intervals. The values may not be in memory.
func GapsOf(values Values) *Series {
	s := newSeries(values, "gaps")
	s.nested = true
	return s
}

func newSeries(values Values, noun string) *Series {
	s := &Series{x: vectorOf(values), noun: noun}
	for i := range values.Len() {
		if v := s.x.at(i); !usable(v) {
			s.bad = fmt.Sprintf("value %d is %v", i, v)
			break
		}
	}
	if values.Len() == 0 {
		s.bad = "no values"
	}
	return s
}

// Mean estimates the mean. Its interval is symmetric on the logarithmic scale
// (x̄·exp(±t·se/x̄)), which suits skewed times, if the mean is positive; else
// on the plain one.
//
// A short series has the interval of an [autoregression].
func (s *Series) Mean() Estimate { return s.anyMean(true) }

// anyMean estimates the mean of a series of any length.
func (s *Series) anyMean(logarithmic bool) Estimate {
	e := s.mean(logarithmic)
	return e.orSmall(s, 0.5, func() *small { return s.smallMean(e.Value, e.tau, logarithmic) })
}

func (s *Series) mean(logarithmic bool) Estimate {
	if s.bad != "" {
		return unavailable(math.NaN(), s.x.Len(), s.bad)
	}
	n, mean := s.x.Len(), s.x.mean()
	if na := s.constant(0.5); na.Missing() {
		return Estimate{Value: mean, N: n, NA: na}
	}
	sp := spreadOf(n, s.x.at)
	if !(sp.variance > 0) {
		return unavailable(mean, n, "the values differ by too little")
	}
	e := Estimate{Value: mean, N: n, EffectiveN: sp.forRule(), tau: sp.tau}
	se := math.Sqrt(sp.longRun / float64(n))
	if logarithmic && mean > 0 {
		e.pivot = pivot{waves, func(t float64) Interval {
			return Interval{mean * math.Exp(-t*se/mean), mean * math.Exp(t*se/mean)}
		}}
	} else {
		e.pivot = pivot{waves, func(t float64) Interval {
			return Interval{mean - t*se, mean + t*se}
		}}
	}
	e.NA, e.few = sp.shortOf(0.5, s.noun)
	e.few = e.few || s.dependsMore(0.5, func(p float64) float64 { return effectiveSize(p, n) })
	return e
}

// Quantile estimates the quantile p, 0 < p < 1, of type 7 (numpy's linear).
//
// Its interval reaches from one sample quantile to another, so it needs no
// density and is the same on every scale. The share of values below the true
// quantile is an average with the spread of n_e independent draws, where
// n_e = n·v/longRun. v and longRun are computed for the series "is this
// value below the sample quantile" (one half for a value equal to it). On the
// arcsine scale, where the spread of a share does not depend on the share, the
// ends are the sample quantiles
//
//	sin²(arcsin √p ± t/(2·√n_e)).
//
// It is Woodruff's interval (Journal of the American Statistical Association
// 47, 1952) with the effective number of values. An end beyond the smallest or
// largest value is infinite.
//
// A short series has an interval of order statistics, see [Series.smallQuantile].
func (s *Series) Quantile(p float64) Estimate {
	e := s.quantile(p)
	return e.orSmall(s, p, func() *small { return s.smallQuantile(p, e.Value, e.tau) })
}

func (s *Series) quantile(p float64) Estimate {
	n := s.x.Len()
	switch {
	case s.bad != "":
		return unavailable(math.NaN(), n, s.bad)
	case !(p > 0 && p < 1):
		return unavailable(math.NaN(), n, fmt.Sprintf("%v is no quantile between 0 and 1", p))
	}
	if s.sorted == nil {
		s.sorted = vectorOf(s.x.Sorted())
	}
	value := s.sorted.quantile(p)
	if na := s.constant(p); na.Missing() {
		return Estimate{Value: value, N: n, NA: na}
	}
	sp := spreadOf(n, func(i int) float64 { return below(s.x.at(i), value) })
	e := Estimate{Value: value, N: n, EffectiveN: sp.forRule(), tau: sp.tau}
	reach := sp.arcsine(p)
	e.pivot = pivot{waves, func(t float64) Interval {
		if t == 0 {
			return Interval{value, value}
		}
		ends := Interval{math.Inf(-1), math.Inf(1)}
		from, to := reach(t)
		if from >= 0 {
			ends.Low = math.Min(value, s.sorted.quantile(square(math.Sin(from))))
		}
		if to <= math.Pi/2 {
			ends.High = math.Max(value, s.sorted.quantile(square(math.Sin(to))))
		}
		return ends
	}}
	e.NA, e.few = sp.shortOf(p, s.noun)
	e.few = e.few || s.dependsMore(p, func(phi float64) float64 { return quantileEffectiveSize(p, phi, n) })
	return e
}

// constant says that values which are all the same, or a single one, show no
// spread.
func (s *Series) constant(p float64) NA {
	switch {
	case s.x.Len() == 1:
		return NA{Reason: "a single value", Needs: s.minValues(p)}
	case s.x.allEqual(): // more of the same would not help
		return NA{Reason: fmt.Sprintf("all %d %s are the same", s.x.Len(), s.noun)}
	default:
		return NA{}
	}
}

// square is rounded by itself on every platform: see package quantile.
func square(v float64) float64 { return float64(v * v) }
