package stat

import "math"

// IncompleteBeta returns the regularized incomplete beta function I(x; a, b)
// for a, b > 0 and 0 ≤ x ≤ 1; y is 1 − x, which the caller has without loss.
// It is the continued fraction of Abramowitz and Stegun 26.5.8, evaluated from
// the front after Lentz.
func IncompleteBeta(a, b, x, y float64) float64 {
	switch {
	case x <= 0:
		return 0
	case y <= 0:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - IncompleteBeta(b, a, y, x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+float64(a*math.Log(x))+float64(b*math.Log(y))) / a

	const (
		tiny  = 1e-300 // stands in for a zero denominator
		terms = 10_000 // about √max(a, b) terms are needed
	)
	nonzero := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/nonzero(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < terms; m++ {
		even := m * (b - m) * x / ((a + float64(2*m) - 1) * (a + float64(2*m)))
		d = 1 / nonzero(1+float64(even*d))
		c = nonzero(1 + even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + float64(2*m)) * (a + float64(2*m) + 1))
		d = 1 / nonzero(1+float64(odd*d))
		c = nonzero(1 + odd/c)
		f *= c * d
		if math.Abs(float64(c*d)-1) < 1e-15 {
			break
		}
	}
	return front * f
}
