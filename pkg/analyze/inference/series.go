package inference

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/plural"
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
	nested bool    // see [GapsOf]
	fit    *autoregression
	half   float64 // see [Series.halfStep]; NaN before the first quantile

	average, squares float64 // of the values: their mean, and the sum of their squared deviations from it
	last             float64 // value
	step             float64 // smallest difference between successive values that differ
	whole            bool    // all values are whole numbers

	spreads map[float64]*spread // see [Series.Expect]; by quantile, 0 for the mean
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
	s := &Series{x: vectorOf(values), noun: noun, half: math.NaN(), step: math.Inf(1), whole: true, spreads: map[float64]*spread{}}
	s.x.eachBlock(s.read)
	if values.Len() == 0 {
		s.bad = "no values"
	}
	return s
}

// read reads the next values, from index from on. It returns false at a value that is not usable.
func (s *Series) read(from int, values []float64) bool {
	mean, squares, before, step := s.average, s.squares, s.last, s.step
	for i, v := range values {
		if !usable(v) {
			s.bad = fmt.Sprintf("value %d is %v", from+i, v)
			return false
		}
		d := v - mean
		mean += d / float64(from+i+1)
		squares += d * (v - mean)
		if difference := math.Abs(v - before); difference > 0 && difference < step && from+i > 0 {
			step = difference
		}
		s.whole = s.whole && v == math.Trunc(v)
		before = v
	}
	s.average, s.squares, s.last, s.step = mean, squares, before, step
	return true
}

// Expect computes what Mean, and Quantile for each of the quantiles, will need. This takes fewer passes over the
// values than one after the other.
func (s *Series) Expect(quantiles ...float64) {
	n := s.x.Len()
	if s.bad != "" || s.x.allEqual() {
		return
	}
	type indicator struct{ value, mean float64 }
	shares := make([]indicator, len(quantiles))
	for i, p := range quantiles {
		s.sort()
		shares[i].value = s.sorted.quantile(p)
	}
	s.x.eachBlock(func(from int, values []float64) bool {
		for i := 0; i < len(shares); i += 2 {
			a, b := &shares[i], &shares[min(i+1, len(shares)-1)] // two side by side, because each step waits for the previous step
			meanA, meanB := a.mean, b.mean
			for j, v := range values {
				size := float64(from + j + 1)
				meanA += (below(v, a.value) - meanA) / size
				meanB += (below(v, b.value) - meanB) / size
			}
			a.mean, b.mean = meanA, meanB
		}
		return true
	})
	ofMean := newDeviations(n, s.average)
	ofShares := make([]deviations, len(quantiles))
	for i := range shares {
		ofShares[i] = newDeviations(n, shares[i].mean)
	}
	s.x.eachBlock(func(_ int, values []float64) bool {
		for _, v := range values {
			ofMean.add(v)
		}
		for i := range ofShares {
			d, value := &ofShares[i], shares[i].value
			for _, v := range values {
				d.add(below(v, value))
			}
		}
		return true
	})
	sp := ofMean.spread()
	s.spreads[0] = &sp
	for i, p := range quantiles {
		sp := ofShares[i].spread()
		s.spreads[p] = &sp
	}
}

// spreadFor returns the spread of the values for their mean, 0, or for a quantile.
func (s *Series) spreadFor(p float64) *spread {
	if s.spreads[p] == nil {
		if p == 0 {
			s.Expect()
		} else {
			s.Expect(p)
		}
	}
	return s.spreads[p]
}

// Mean estimates the mean. Its interval is symmetric on the logarithmic scale
// (x̄·exp(±t·se/x̄)), which suits skewed times, if the mean is positive; else
// on the plain one.
//
// A short series has the interval of an [autoregression]. If the clock is so coarse that nearly all
// values are equal, the ends are half a step further out. For constant values, see [Series.exact].
func (s *Series) Mean() Estimate {
	if e, ok := s.exact(); ok {
		return e
	}
	e := s.anyMean(true, true)
	half := s.meanResolution()
	if half == 0 || e.pivot.ends == nil {
		return e
	}
	if small := e.small; small != nil { // the other run of a comparison may change the weights
		coarse := *small
		coarse.pivot = func(w *dependenceWeights) pivot {
			p := small.pivot(w)
			return p.apart(half)
		}
		e.small = &coarse
	}
	e.pivot = e.pivot.apart(half)
	return e
}

// exact returns the estimate of any quantile, or the mean, of values that are all the same. There
// must be enough of them for an interval. Its intervals have no width.
func (s *Series) exact() (e Estimate, ok bool) {
	n := s.x.Len()
	if s.bad != "" || n < s.minValues(0.5) || !s.x.allEqual() {
		return Estimate{}, false
	}
	value := s.x.at(0)
	return Estimate{Value: value, N: n, constant: true, pivot: pivot{waves, func(float64) Interval {
		return Interval{value, value}
	}}}, true
}

// meanResolution returns [Series.halfStep] if the values deviate by less than the step; otherwise 0.
// On a coarse clock, all true times may be up to half a step off. Times that deviate by more than a
// step are rounded up as often as down, and their mean is right.
func (s *Series) meanResolution() float64 {
	if s.bad != "" {
		return 0
	}
	deviation := math.Sqrt(s.squares / float64(s.x.Len()))
	if math.IsInf(s.step, 1) || deviation >= s.step { // the smallest step is not larger; this saves sorting
		return 0
	}
	if half := s.halfStep(); deviation < 2*half {
		return half
	}
	return 0
}

// halfStep returns half the smallest step between neighbouring values that both occur more than
// once; 0 if there are none. Such values come from a coarse clock; a cold request beside constants
// does not.
func (s *Series) halfStep() float64 {
	if !math.IsNaN(s.half) {
		return s.half
	}
	s.sort()
	step, before, times, repeated := math.Inf(1), s.sorted.at(0), 0, false
	var last float64 // step to before
	for i := range s.sorted.Len() {
		v := s.sorted.at(i)
		if v == before {
			times++
		} else {
			last, repeated = v-before, times > 1
			before, times = v, 1
		}
		if times == 2 && repeated {
			step = math.Min(step, last)
		}
		if s.whole && step == 1 { // there is no smaller one
			break
		}
	}
	if s.half = step / 2; math.IsInf(step, 1) {
		s.half = 0
	}
	return s.half
}

// sort sorts the values, once.
func (s *Series) sort() {
	if s.sorted == nil {
		s.sorted = vectorOf(s.x.Sorted())
	}
}

// anyMean estimates the mean of a series of any length. For noise, see [smallEstimate].
func (s *Series) anyMean(logarithmic, noise bool) Estimate {
	e := s.mean(logarithmic)
	return e.orSmall(s, 0.5, func() *smallEstimate { return s.smallMean(e.Value, e.tau, logarithmic, noise) })
}

func (s *Series) mean(logarithmic bool) Estimate {
	if s.bad != "" {
		return unavailable(math.NaN(), s.x.Len(), s.bad)
	}
	n, mean := s.x.Len(), s.average
	if na := s.constant(0.5); na.Missing() {
		return Estimate{Value: mean, N: n, NA: na}
	}
	sp := s.spreadFor(0)
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
// A short series has an interval of order statistics, see [Series.smallQuantile]. If the clock is
// coarse, the ends are half a step further out, see [Series.halfStep]. For constant values, see
// [Series.exact].
func (s *Series) Quantile(p float64) Estimate {
	if p > 0 && p < 1 {
		if e, ok := s.exact(); ok {
			return e
		}
	}
	return s.anyQuantile(p)
}

// anyQuantile estimates a quantile of a series of any length that is not constant.
func (s *Series) anyQuantile(p float64) Estimate {
	e := s.quantile(p)
	return e.orSmall(s, p, func() *smallEstimate { return s.smallQuantile(p, e.Value, e.tau) })
}

func (s *Series) quantile(p float64) Estimate {
	n := s.x.Len()
	switch {
	case s.bad != "":
		return unavailable(math.NaN(), n, s.bad)
	case !(p > 0 && p < 1):
		return unavailable(math.NaN(), n, fmt.Sprintf("%v is not a quantile between 0 and 1", p))
	}
	s.sort()
	value := s.sorted.quantile(p)
	if na := s.constant(p); na.Missing() {
		return Estimate{Value: value, N: n, NA: na}
	}
	sp := s.spreadFor(p)
	e := Estimate{Value: value, N: n, EffectiveN: sp.forRule(), tau: sp.tau}
	reach, half := sp.arcsine(p), s.halfStep()
	e.pivot = pivot{waves, func(t float64) Interval {
		if t == 0 {
			return Interval{value - half, value + half}
		}
		ends := Interval{math.Inf(-1), math.Inf(1)}
		from, to := reach(t)
		if from >= 0 {
			ends.Low = math.Min(value, s.sorted.quantile(square(math.Sin(from)))) - half
		}
		if to <= math.Pi/2 {
			ends.High = math.Max(value, s.sorted.quantile(square(math.Sin(to)))) + half
		}
		return ends
	}}
	e.NA, e.few = sp.shortOf(p, s.noun)
	e.few = e.few || s.dependsMore(p, func(phi float64) float64 { return quantileEffectiveSize(p, dependence{phi: phi}, n) })
	return e
}

// constant says that values which are all the same, or a single one, show no
// spread.
func (s *Series) constant(p float64) NA {
	switch {
	case s.x.Len() == 1:
		return NA{Reason: "a single value", Needs: s.minValues(p)}
	case s.x.allEqual(): // more of the same would not help
		return NA{Reason: fmt.Sprintf("%s %s are the same", plural.All(s.x.Len()), s.noun)}
	default:
		return NA{}
	}
}

// square is rounded by itself on every platform: see package stat.
func square(v float64) float64 { return float64(v * v) }
