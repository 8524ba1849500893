package inference

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// This file has the rule for series that are worth less than minEffective independent values.
// Their intervals average over the dependence between neighbouring values, see
// [autoregression]. A series has an interval if
//
//   - there are 30 to 5000 values;
//   - the average dependence φ is at most 0.7, and the values are worth at least 6.3
//     independent values;
//   - the slowest waves hold no more energy than in 999 of 1000 series of the model.
//
// From 100 values on, and for quantiles beyond the quartiles, the autocorrelations are also
// summed, as for long series. If the sum is larger than the sum of the model, the interval
// becomes wider: in queues, and in servers with a slow and a fast state, values depend on each
// other over longer times than in an autoregression.
//
// The numbers are from simulation (test/statsvalidation).
const (
	minSmall          = 30
	maxSmall          = 5000 // with more values, an effective size this small means too much dependence
	maxPhi            = 0.7
	minSmallEffective = 6.3
	smallTail         = 0.025
	minSum            = 100 // from this many values on, autocorrelations are summed as well
	lostValues        = 2   // largest number by which the effective size for a quantile is lowered
)

// A smallEstimate is an estimate of a statistic from a short series. Its pivot depends on the
// probabilities of φ.
type smallEstimate struct {
	series *Series
	// noise says that the dependence may have noise, see [autoregression]. The interval of a rate, or of a
	// quantile beyond the quartiles, is wider for other reasons.
	noise bool
	pivot func(w *dependenceWeights) pivot
	// open returns why an end of the interval does not exist; the zero NA if both ends
	// exist.
	open func(w *dependenceWeights) NA
}

// missing returns why the series is too short or too dependent for an interval, given the
// probabilities w of φ.
func (s *smallEstimate) missing(w *dependenceWeights) NA {
	x := s.series
	n := x.x.Len()
	d := x.dependence()
	p := w.mean()
	switch {
	case p > maxPhi || effectiveSize(p, n) < minSmallEffective:
		return NA{
			Reason: fmt.Sprintf("neighbouring %s depend on each other (correlation about %.2f), too much for %d of them", x.noun, p, n),
			Needs:  roundUp(minEffective * (1 + p) / (1 - p)),
		}
	case d.slow > maxSlow(n):
		return NA{
			Reason: fmt.Sprintf("the %s drift: slow waves hold %.1f times the energy that their dependence explains", x.noun, d.slow),
			Needs:  roundUp(float64(n) * d.slow),
		}
	}
	return s.open(w)
}

// dependence returns the autoregression of the series and keeps it. The series must have at
// least minSmall values that are not all equal.
func (s *Series) dependence() *autoregression {
	if s.fit == nil {
		s.fit = robustFit(s.x.all())
	}
	return s.fit
}

// dependsMore reports whether a series that is long enough for quantile p by its
// autocorrelation time is too short by the autoregression. Dependent values that happen to
// vary little seem to be enough, and their interval would be too narrow. size returns the
// effective size of the series for a φ.
func (s *Series) dependsMore(p float64, size func(phi float64) float64) bool {
	const margin = 1.5 // the model may be wrong, too
	if n := s.x.Len(); s.nested || n < minSmall || n > maxSmall {
		return false
	}
	w := s.dependence().weights(false)
	return size(w.mean())*margin < wanted(p)
}

// smallMean estimates the mean of a short series. For each φ, the mean has Student's t
// distribution with n − 1 degrees of freedom around the true mean. The interval comes from the
// average of these distributions. tau is the autocorrelation time, see [spread].
func (s *Series) smallMean(mean, tau float64, logarithmic, noise bool) *smallEstimate {
	n := s.x.Len()
	return &smallEstimate{
		series: s, noise: noise,
		open: func(*dependenceWeights) NA { return NA{} },
		pivot: func(w *dependenceWeights) pivot {
			d := s.dependence()
			df := float64(n - 1)
			var weights, errors []float64
			model := 0.0
			w.relevant(func(i int, weight float64) {
				dep := dependenceAt(i)
				weights = append(weights, weight)
				errors = append(errors, math.Sqrt(d.innovation[i]/(1-dep.phi*dep.phi)*meanVariance(dep, n)))
				model += weight * meanVariance(dep, n) * float64(n)
			})
			if n >= minSum && tau > model {
				for i := range errors {
					errors[i] *= math.Sqrt(tau / model)
				}
			}
			return pivot{df, func(t float64) Interval {
				half := mixedReach(weights, errors, df, t)
				if logarithmic && mean > 0 {
					return Interval{mean * math.Exp(-half/mean), mean * math.Exp(half/mean)}
				}
				return Interval{mean - half, mean + half}
			}}
		},
	}
}

// mixedReach returns the distance d that a weighted mixture of Student's distributions,
// scaled by errors, exceeds as often as Student's distribution exceeds t.
func mixedReach(weights, errors []float64, df, t float64) float64 {
	tail := StudentUpper(t, df)
	if t == 0 || tail == 0 {
		return t * slices.Max(errors)
	}
	excess := func(d float64) float64 {
		sum := 0.0
		for i, w := range weights {
			sum += w * StudentUpper(d/errors[i], df)
		}
		return math.Log(sum / tail)
	}
	return fallingRoot(excess, t*slices.Min(errors), t*slices.Max(errors))
}

// fallingRoot returns the root of a falling function that is at least 0 at lo and at most 0 at
// hi. It uses the Illinois variant of the secant method.
func fallingRoot(f func(float64) float64, lo, hi float64) float64 {
	atLo, atHi := f(lo), f(hi)
	for side := 0; hi-lo > 1e-10*hi; {
		mid := lo + (hi-lo)*atLo/(atLo-atHi)
		if !(mid > lo && mid < hi) {
			if mid = lo + (hi-lo)/2; !(mid > lo && mid < hi) {
				break
			}
		}
		switch v := f(mid); {
		case v == 0:
			return mid
		case v > 0:
			if lo, atLo = mid, v; side > 0 {
				atHi /= 2
			}
			side = 1
		default:
			if hi, atHi = mid, v; side < 0 {
				atLo /= 2
			}
			side = -1
		}
	}
	return hi
}

// smallQuantile estimates the quantile q of a short series. The ends of its interval are order
// statistics. If all values are independent, the number of values below the true quantile is
// binomial, and the r-th smallest value lies above the quantile with probability
//
//	P(Binomial(n, q) ≤ r−1) = I(1−q; n−r+1, r)
//
// (Conover, Practical Nonparametric Statistics, 3.2). The right side interpolates between
// order statistics if r is not whole. For each φ, the effective size for this quantile takes
// the place of n, and r is scaled in proportion. tau is the autocorrelation time of "is below
// the quantile", see [spread].
func (s *Series) smallQuantile(q, value, tau float64) *smallEstimate {
	n := s.x.Len()
	size := float64(n)
	farOut := q < 0.25 || q > 0.75
	binomial := func(w *dependenceWeights) (below, above func(r float64) float64) {
		var weights, scale []float64
		model := 0.0
		w.relevant(func(i int, weight float64) {
			m := quantileEffectiveSize(q, dependenceAt(i), n)
			m = math.Max(1, m-lostValues*math.Max(0, 1-m/size))
			weights, scale = append(weights, weight), append(scale, m/size)
			model += weight * size / m
		})
		if (n >= minSum || farOut) && tau > model {
			for i := range scale {
				scale[i] = math.Max(1/size, scale[i]*model/tau)
			}
		}
		below = func(r float64) float64 {
			sum := 0.0
			for i, weight := range weights {
				sum += weight * stat.IncompleteBeta((size+1-r)*scale[i], r*scale[i], 1-q, q)
			}
			return sum
		}
		above = func(r float64) float64 {
			sum := 0.0
			for i, weight := range weights {
				sum += weight * stat.IncompleteBeta(r*scale[i], (size+1-r)*scale[i], q, 1-q)
			}
			return sum
		}
		return below, above
	}
	return &smallEstimate{
		series: s, noise: !farOut,
		open: func(w *dependenceWeights) NA {
			below, above := binomial(w)
			if below(1) <= smallTail && above(size) <= smallTail {
				return NA{}
			}
			dependent := size / quantileEffectiveSize(q, dependence{phi: math.Max(0, w.mean())}, n)
			return NA{
				Reason: fmt.Sprintf("too few of %d %s lie beyond p%g", n, s.noun, 100*q),
				Needs:  roundUp(float64(s.minValues(q)) * dependent),
			}
		},
		pivot: func(w *dependenceWeights) pivot {
			below, above := binomial(w)
			return pivot{math.Inf(1), func(t float64) Interval {
				half := s.halfStep()
				if t == 0 {
					return Interval{value - half, value + half}
				}
				tail := StudentUpper(t, math.Inf(1))
				ends := Interval{math.Inf(-1), math.Inf(1)}
				middle := q * (size + 1)
				if below(1) <= tail {
					// The function falls as r does.
					r := fallingRoot(func(down float64) float64 { return math.Log(below(size+1-down) / tail) }, size+1-middle, size)
					ends.Low = math.Min(value, s.orderStatistic(size+1-r)) - half
				}
				if above(size) <= tail {
					r := fallingRoot(func(r float64) float64 { return math.Log(above(r) / tail) }, middle, size)
					ends.High = math.Max(value, s.orderStatistic(r)) + half
				}
				return ends
			}}
		},
	}
}

// minValues returns how many independent values an interval of the quantile p needs: so many
// that the quantile lies between the smallest and the largest value in 95 of 100 series, and
// at least minSmall. A nested series needs more.
func (s *Series) minValues(p float64) int {
	if s.nested {
		return roundUp(wanted(p))
	}
	return max(minSmall, roundUp(math.Log(smallTail)/math.Log1p(-math.Min(p, 1-p))))
}

// orderStatistic returns the r-th smallest value, 1 ≤ r ≤ n, and interpolates linearly
// between two values if r is not whole.
func (s *Series) orderStatistic(r float64) float64 {
	return s.sorted.quantile((r - 1) / float64(s.sorted.Len()-1))
}
