package inference

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
)

// The rule for series that are worth less than minEffective independent values. Their
// intervals average over the dependence between neighbours (see [autoregression]). There
// is one if
//
//   - there are 30 to 5000 values;
//   - the average dependence φ is at most 0.7, and the values are worth at least 6.3
//     independent ones;
//   - the slowest waves do not hold more energy than chance explains in one of 1000
//     series of the model.
//
// From 100 values on, and for quantiles beyond the quartiles, their autocorrelations are
// also summed, as for long series. If the sum is larger than the model's, the interval is
// wider: queues and servers with a slow and a fast state depend for longer than an
// autoregression.
//
// The numbers are from simulation (test/statsvalidation).
const (
	minSmall   = 30
	maxSmall   = 5000 // more values depend too much if they are worth so few
	maxPhi     = 0.7
	minWorth   = 6.3
	smallTail  = 0.025
	minSum     = 100 // values whose autocorrelations are summed beside the model
	lostValues = 2   // by which the number of values that a quantile is worth is lowered at most
)

// A small is the estimate of a statistic from a short series: its pivot for given
// probabilities of the dependence.
type small struct {
	series *Series
	pivot  func(w *phiWeights) pivot
	// open returns why the pivot has an interval without an end; the zero NA if it
	// has both ends.
	open func(w *phiWeights) NA
}

// missing returns why the series is too short or too dependent, if the dependence has
// the probabilities w.
func (s *small) missing(w *phiWeights) NA {
	x := s.series
	n := len(x.x)
	d := x.dependence()
	p := w.mean()
	switch {
	case p > maxPhi || worth(p, n) < minWorth:
		return NA{
			Reason: fmt.Sprintf("neighbouring %s depend on each other (φ about %.2f), too much for %d of them", x.noun, p, n),
			Needs:  roundUp(minEffective * (1 + p) / (1 - p)),
		}
	case d.slow > mostSlow(n):
		return NA{
			Reason: fmt.Sprintf("the %s drift: slow waves hold %.1f times the energy that their dependence explains", x.noun, d.slow),
			Needs:  roundUp(float64(n) * d.slow),
		}
	}
	return s.open(w)
}

// dependence returns the fit of the series, which has at least minSmall values that are
// not all equal.
func (s *Series) dependence() *autoregression {
	if s.fit == nil {
		s.fit = dependenceOf(s.x)
	}
	return s.fit
}

// dependsMore reports whether the values, which look long enough for quantile p by their
// autocorrelation time, are too few by the model of their dependence. A run of dependent
// values that happens to be calm looks long, and its interval is too narrow. of returns
// how many independent values they are worth for a φ.
func (s *Series) dependsMore(p float64, of func(phi float64) float64) bool {
	const margin = 1.5 // the model may be wrong, too
	if n := len(s.x); s.nested || n < minSmall || n > maxSmall {
		return false
	}
	w := s.dependence().weights()
	return of(w.mean())*margin < wanted(p)
}

// smallMean estimates the mean of a short series. For each φ, the mean has Student's t
// distribution with n − 1 degrees of freedom around the true one; the interval is from
// the average of these distributions.
// tau is the autocorrelation time, see [spread].
func (s *Series) smallMean(mean, tau float64, logarithmic bool) *small {
	n := len(s.x)
	return &small{
		series: s,
		open:   func(*phiWeights) NA { return NA{} },
		pivot: func(w *phiWeights) pivot {
			d := s.dependence()
			df := float64(n - 1)
			var weights, errors []float64
			model := 0.0
			w.relevant(func(i int, weight float64) {
				p := phi(i)
				weights = append(weights, weight)
				errors = append(errors, math.Sqrt(d.innovation[i]/(1-p*p)*meanVariance(p, n)))
				model += weight * meanVariance(p, n) * float64(n)
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
	tail := studentUpper(t, df)
	if t == 0 || tail == 0 {
		return t * slices.Max(errors)
	}
	excess := func(d float64) float64 {
		sum := 0.0
		for i, w := range weights {
			sum += w * studentUpper(d/errors[i], df)
		}
		return math.Log(sum / tail)
	}
	return falling(excess, t*slices.Min(errors), t*slices.Max(errors))
}

// falling returns where a falling function crosses 0 that is not negative at lo and not
// positive at hi: the secant through the ends, with Illinois' correction.
func falling(f func(float64) float64, lo, hi float64) float64 {
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

// smallQuantile estimates the quantile q of a short series. Its interval reaches from
// one order statistic to another. If all values are independent, the number of values
// below the true quantile is binomial, and the r-th smallest value lies above it with
// probability
//
//	P(Binomial(n, q) ≤ r−1) = I(1−q; n−r+1, r)
//
// (Conover, Practical Nonparametric Statistics, 3.2), which also holds between the order
// statistics if r is not whole. For each φ, n counts as the number of independent values
// that the series is worth for this quantile, and r in proportion. tau is the
// autocorrelation time of "is below the quantile", see [spread].
func (s *Series) smallQuantile(q, value, tau float64) *small {
	n := len(s.x)
	size := float64(n)
	binomial := func(w *phiWeights) (below, above func(r float64) float64) {
		var weights, scale []float64
		model := 0.0
		w.relevant(func(i int, weight float64) {
			m := quantileWorth(q, phi(i), n)
			m = math.Max(1, m-lostValues*math.Max(0, 1-m/size))
			weights, scale = append(weights, weight), append(scale, m/size)
			model += weight * size / m
		})
		if (n >= minSum || q < 0.25 || q > 0.75) && tau > model {
			for i := range scale {
				scale[i] = math.Max(1/size, scale[i]*model/tau)
			}
		}
		below = func(r float64) float64 {
			sum := 0.0
			for i, weight := range weights {
				sum += weight * incompleteBeta((size+1-r)*scale[i], r*scale[i], 1-q, q)
			}
			return sum
		}
		above = func(r float64) float64 {
			sum := 0.0
			for i, weight := range weights {
				sum += weight * incompleteBeta(r*scale[i], (size+1-r)*scale[i], q, 1-q)
			}
			return sum
		}
		return below, above
	}
	return &small{
		series: s,
		open: func(w *phiWeights) NA {
			below, above := binomial(w)
			if below(1) <= smallTail && above(size) <= smallTail {
				return NA{}
			}
			dependent := size / quantileWorth(q, math.Max(0, w.mean()), n)
			return NA{
				Reason: fmt.Sprintf("too few of %d %s lie beyond p%g", n, s.noun, 100*q),
				Needs:  roundUp(float64(s.least(q)) * dependent),
			}
		},
		pivot: func(w *phiWeights) pivot {
			below, above := binomial(w)
			return pivot{math.Inf(1), func(t float64) Interval {
				if t == 0 {
					return Interval{value, value}
				}
				tail := studentUpper(t, math.Inf(1))
				ends := Interval{math.Inf(-1), math.Inf(1)}
				middle := q * (size + 1)
				if below(1) <= tail {
					// The function falls as r does.
					r := falling(func(down float64) float64 { return math.Log(below(size+1-down) / tail) }, size+1-middle, size)
					ends.Low = math.Min(value, s.orderStatistic(size+1-r))
				}
				if above(size) <= tail {
					r := falling(func(r float64) float64 { return math.Log(above(r) / tail) }, middle, size)
					ends.High = math.Max(value, s.orderStatistic(r))
				}
				return ends
			}}
		},
	}
}

// least returns the number of independent values of which the smallest and the largest
// lie on either side of the quantile p in 95 of 100 series; at least minSmall. More are
// wanted of a series that is nested.
func (s *Series) least(p float64) int {
	if s.nested {
		return roundUp(wanted(p))
	}
	return max(minSmall, roundUp(math.Log(smallTail)/math.Log1p(-math.Min(p, 1-p))))
}

// orderStatistic returns the r-th smallest value, in a straight line between two of
// them; 1 ≤ r ≤ n.
func (s *Series) orderStatistic(r float64) float64 {
	return quantile.At(s.sorted, (r-1)/float64(len(s.sorted)-1))
}
