package check

import (
	"math"
	"slices"
)

// Arrivals of a Poisson process have gaps with an exponential distribution. The test is the
// Kolmogorov-Smirnov test with the mean of the gaps in place of the true mean (Lilliefors 1969). The
// distance is modified for the number of gaps, so that one limit holds for all:
//
//	(D − 0.2/n) · (√n + 0.26 + 0.5/√n)
//
// Source: Stephens, EDF statistics for goodness of fit and some comparisons, JASA 69 (1974), case of
// the exponential distribution with unknown mean.
const (
	poissonLimit    = 1.308 // at 1 % false alarms
	leastGaps       = 10
	poissonLimitPct = 1
)

// exponentialDistance returns the modified distance between the gaps of arrivals and an
// exponential distribution with their mean. ok is false for fewer than leastGaps gaps, and if all
// arrivals are at one time. It sorts arrivals.
func exponentialDistance(arrivals []uint64) (distance float64, ok bool) {
	n := len(arrivals) - 1
	if n < leastGaps {
		return 0, false
	}
	slices.Sort(arrivals)
	mean := float64(arrivals[n]-arrivals[0]) / float64(n)
	if mean == 0 {
		return 0, false
	}
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = float64(arrivals[i+1] - arrivals[i])
	}
	slices.Sort(gaps)
	d := 0.0
	for i, g := range gaps {
		f := -math.Expm1(-g / mean)
		d = max(d, float64(i+1)/float64(n)-f, f-float64(i)/float64(n))
	}
	root := math.Sqrt(float64(n))
	return (d - 0.2/float64(n)) * (root + 0.26 + 0.5/root), true
}
