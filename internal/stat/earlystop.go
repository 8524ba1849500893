package stat

import (
	"math"
	"sort"
)

// CertifiedConfidence is the confidence of a certified percentile: the true percentile exceeds it with a probability
// of at most 1 %. MLPerf's LoadGen certifies percentiles so, and fixes the confidence. Of n values, let t be the
// largest whole number ≥ 1 with
//
//	P(Binomial(n, 1 − p) ≤ t) < 1 − 0.99
//
// If the true quantile p were above some bound, at least a share of 1 − p of the values would
// exceed the bound, and t or fewer of n would do so with a probability below 1 %. The certified
// percentile is the t-th highest value. Fewer than [CertifiedFloor] values certify no percentile.
//
// Source: MLPerf Inference, loadgen/early_stopping.cc and results.cc (estimate of the single
// stream scenario, tolerance 0); mlcommons/endpoints (page "Early stopping — design").
const CertifiedConfidence = 0.99

// CertifiedRank returns t: the t-th highest of n values is the certified quantile p, 0 < p < 1. 1 means
// the maximum. It returns 0 if n values are too few, or for another p.
//
// t is the largest number with P(Binomial(n, 1−p) ≤ t) < 1 − CertifiedConfidence. This probability rises
// with t, and at n·(1−p), rounded up, it is at least ½, because the median of the distribution is
// no larger. So CertifiedRank finds t by a binary search below that number.
func CertifiedRank(n int, p float64) int {
	if n < 1 || !(p > 0 && p < 1) {
		return 0
	}
	median := int(math.Ceil(float64(n) * (1 - p)))
	return sort.Search(min(n-1, median), func(i int) bool { return atMost(i+1, n, p) >= 1-CertifiedConfidence })
}

// DependentCertifiedRank is CertifiedRank for n values that depend on each other and are worth only effective
// independent ones. A part t/n of the values stands for the same part of the independent ones, so t
// is the largest number with t·effective/n ≥ 1 and
//
//	P(Binomial(effective, 1−p) ≤ t·effective/n) < 1 − CertifiedConfidence,
//
// where the incomplete beta function continues the distribution between whole numbers. It is
// CertifiedRank(n, p) if effective is n or more, and 0 if effective is not a number.
func DependentCertifiedRank(n int, effective, p float64) int {
	size := float64(n)
	switch {
	case effective >= size:
		return CertifiedRank(n, p)
	case n < 1 || !(effective > 0) || !(p > 0 && p < 1):
		return 0
	}
	scale := effective / size
	least := int(math.Ceil(1 / scale))
	within := func(t int) bool {
		u := float64(float64(t) * scale)
		return IncompleteBeta(effective-u, u+1, p, 1-p) < 1-CertifiedConfidence
	}
	median := min(n-1, int(math.Ceil(size*(1-p)))+least) // above the median of the distribution
	if least > median || !within(least) {
		return 0
	}
	return least - 1 + sort.Search(median-least, func(i int) bool { return !within(least + i) })
}

// CertifiedFloor returns the smallest number of values that certifies the quantile p, 0 < p < 1: 662 for
// p = 0.99. It returns 0 for another p.
func CertifiedFloor(p float64) int {
	if !(p > 0 && p < 1) {
		return 0
	}
	certifies := func(n int) bool { return n > 1 && atMost(1, n, p) < 1-CertifiedConfidence } // CertifiedRank(n, p) is 1 or more
	n := 2
	for !certifies(n) && n < math.MaxInt32 {
		n *= 2
	}
	return n/2 + sort.Search(n-n/2, func(i int) bool { return certifies(n/2 + i) })
}

// Certified returns the certified quantile p of values in ascending order. ok is false for fewer than
// CertifiedFloor(p) values.
func Certified[T int64 | float64](sorted []T, p float64) (value T, ok bool) {
	t := CertifiedRank(len(sorted), p)
	if t == 0 {
		return 0, false
	}
	return sorted[len(sorted)-t], true
}

// atMost returns P(Binomial(n, 1−p) ≤ t) for 0 ≤ t < n, which is I(p; n−t, t+1): Abramowitz and
// Stegun 26.5.24.
func atMost(t, n int, p float64) float64 {
	return IncompleteBeta(float64(n-t), float64(t+1), p, 1-p)
}
