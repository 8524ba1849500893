package inference

import "math"

// studentUpper returns P(T > t) for Student's t with df > 0 degrees of
// freedom, which need not be whole. It keeps its relative precision far out in
// the tail. df = +Inf is the normal distribution.
//
// P(T > t) = ½·I(df/(df+t²); df/2, ½) for t ≥ 0: Abramowitz and Stegun,
// Handbook of Mathematical Functions, 26.7.1 with 26.5.27.
func studentUpper(t, df float64) float64 {
	if t < 0 {
		return 1 - studentUpper(-t, df)
	}
	if math.IsInf(df, 1) {
		return math.Erfc(t/math.Sqrt2) / 2
	}
	if t > 1e150 { // its square would overflow
		return 0
	}
	return incompleteBeta(df/2, 0.5, df/(df+t*t), t*t/(df+t*t)) / 2
}

// studentQuantile returns the t with P(|T| ≤ t) = level, 0 < level < 1.
//
// Bisection on the tail, which falls as t rises: some fifty steps of a short
// fraction, where a faster method would need a proof for df < 1.
func studentQuantile(level, df float64) float64 {
	tail := (1 - level) / 2
	lo, hi := 0.0, 1.0
	for studentUpper(hi, df) > tail && hi < 1e300 {
		lo, hi = hi, hi*2
	}
	for hi-lo > 1e-12*hi {
		mid := lo + (hi-lo)/2
		if studentUpper(mid, df) > tail {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

// incompleteBeta returns the regularized incomplete beta function I(x; a, b)
// for a, b > 0 and 0 ≤ x ≤ 1; y is 1 − x, which the caller has without loss.
// It is the continued fraction of Abramowitz and Stegun 26.5.8, evaluated from
// the front after Lentz.
func incompleteBeta(a, b, x, y float64) float64 {
	switch {
	case x <= 0:
		return 0
	case y <= 0:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - incompleteBeta(b, a, y, x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log(y)) / a

	const (
		tiny  = 1e-300 // stands in for a zero denominator
		terms = 10_000 // some √max(a, b) terms are needed
	)
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < terms; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		f *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return front * f
}
