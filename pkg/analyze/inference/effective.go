package inference

import "math"

const (
	// evidentDependence is how many standard errors the correlation of neighbouring values must be above 0
	// for the values to count as dependent: it is in one of 100 series of independent values.
	evidentDependence = 2.326
	// maxNeighbours bounds this correlation.
	maxNeighbours = 0.99
)

// effectiveLevels are the quantiles for which [Series.Effective] computes the effective number of values.
var effectiveLevels = [...]float64{0.5, 0.75, 0.9, 0.95}

// Effective returns how many independent values the values of the series are worth for a bound of a
// quantile from the median upwards: at most their number, which it returns if they show no
// dependence. It is NaN for a series without estimates.
//
// The values count as dependent if the correlation of neighbouring normal scores is evident. The
// effective number is then the smallest of several: for some quantiles, the number of an
// autoregression with this correlation and a standard error more (see [quantileEffectiveSize]), and
// the number from the autocorrelation time of "is below the quantile" (see [spread]). The dependence of
// the middle counts for high quantiles, too, where few values show it: waits in a queue stay long for a time.
func (s *Series) Effective() float64 {
	n := s.x.Len()
	if s.bad != "" {
		return math.NaN()
	}
	effective := float64(n)
	r, dependent := s.neighbours(normalScores)
	if !dependent {
		return effective
	}
	s.Expect(effectiveLevels[:]...)
	for _, p := range effectiveLevels {
		effective = math.Min(effective, quantileEffectiveSize(p, dependence{phi: r}, n))
		if sp := s.spreadFor(p); sp.variance > 0 {
			effective = math.Min(effective, sp.forRule())
		}
	}
	return math.Max(1, effective)
}

// EffectivePart returns how many independent values k neighbouring values of the series, or of a like
// one, are worth for their median. A steady rise of the values is no dependence here.
func (s *Series) EffectivePart(k int) float64 {
	if s.bad != "" {
		return float64(k)
	}
	r, dependent := s.neighbours(func(x []float64) []float64 {
		residuals, _, _ := onLine(x)
		return residuals
	})
	if !dependent {
		return float64(k)
	}
	return math.Min(float64(k), quantileEffectiveSize(0.5, dependence{phi: r}, k))
}

// neighbours returns the correlation of each score of the values with the next one, and whether it is evident. It
// corrects the bias of −(1+4r)/n and adds a standard error, because an estimate that is too small does
// more harm than one that is too large.
func (s *Series) neighbours(scores func([]float64) []float64) (r float64, evident bool) {
	n := s.x.Len()
	if n < 3 || s.x.allEqual() {
		return 0, false
	}
	r = lagOne(scores(s.x.all()))
	size := float64(n)
	if r*math.Sqrt(size) < evidentDependence {
		return 0, false
	}
	return math.Min(maxNeighbours, r+(1+4*r)/size+math.Sqrt((1-r*r)/size)), true
}

// lagOne returns the correlation of each value with the next one; 0 if all values are 0. The values have the
// mean 0.
func lagOne(x []float64) float64 {
	var squares, products float64
	for i, v := range x {
		squares += square(v)
		if i > 0 {
			products += float64(v * x[i-1])
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}

// below returns 1 for a value below a quantile, 0 above it, and one half at it.
func below(v, quantile float64) float64 {
	var less, atMost uint8 // without a branch, which is hard to predict
	if v < quantile {
		less = 1
	}
	if v <= quantile {
		atMost = 1
	}
	return float64(less+atMost) * 0.5
}
