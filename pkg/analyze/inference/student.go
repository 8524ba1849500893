package inference

import (
	"math"

	"github.com/pa-tools/pa/internal/stat"
)

// StudentUpper returns P(T > t) for Student's t with df > 0 degrees of freedom, which
// need not be whole; +Inf is the normal distribution. It keeps its relative precision
// far out in the tail.
//
// P(T > t) = ½·I(df/(df+t²); df/2, ½) for t ≥ 0: Abramowitz and Stegun,
// Handbook of Mathematical Functions, 26.7.1 with 26.5.27.
func StudentUpper(t, df float64) float64 {
	if t < 0 {
		return 1 - StudentUpper(-t, df)
	}
	if math.IsInf(df, 1) {
		return math.Erfc(t/math.Sqrt2) / 2
	}
	if t > 1e150 { // its square would overflow
		return 0
	}
	return stat.IncompleteBeta(df/2, 0.5, df/(df+t*t), t*t/(df+t*t)) / 2
}

// StudentQuantile returns the t with P(|T| ≤ t) = level, for 0 < level < 1 and df as in
// [StudentUpper].
//
// Bisection on the tail, which falls as t rises: some fifty steps of a short
// fraction, where a faster method would need a proof for df < 1.
func StudentQuantile(level, df float64) float64 {
	tail := (1 - level) / 2
	lo, hi := 0.0, 1.0
	for StudentUpper(hi, df) > tail && hi < 1e300 {
		lo, hi = hi, hi*2
	}
	for hi-lo > 1e-12*hi {
		mid := lo + (hi-lo)/2
		if StudentUpper(mid, df) > tail {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}
