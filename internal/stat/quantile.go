package stat

import "math"

// Position returns the place of the quantile p (0 to 1) among n sorted values: the
// index k of a value, and the fraction f of the way to the next value, 0 ≤ f < 1.
// f is 0 at the last value. n must be at least 1.
//
//	h = p · (n−1);  k = ⌊h⌋;  f = h − k
func Position(n int, p float64) (k int, f float64) {
	h := max(float64(p*float64(n-1)), 0)
	k = min(int(h), n-1)
	if k == n-1 {
		return k, 0
	}
	return k, h - float64(k)
}

// Quantile returns the quantile p (0 to 1) of sorted values, at least one:
//
//	x[k] + f · (x[k+1] − x[k])
//
// Quantile subtracts in float64, because the difference of two int64 may overflow.
func Quantile[T int64 | float64](sorted []T, p float64) float64 {
	k, f := Position(len(sorted), p)
	a := float64(sorted[k])
	if f == 0 {
		return a
	}
	return Between(a, float64(sorted[k+1]), f)
}

// Between returns the number at the fraction f of the way from a to b.
func Between(a, b, f float64) float64 { return a + float64(f*(b-a)) }

// Squares returns sum plus the squared deviations of x from the mean, added in order. Many
// values may come part by part; the population standard deviation of n values is the root of
// their Squares, from sum 0, divided by n.
//
// E[x²]−E[x]² would cancel, because the deviations are small compared with the values.
func Squares[T int64 | float64](sum float64, x []T, mean float64) float64 {
	for _, v := range x {
		d := float64(v) - mean
		sum += float64(d * d)
	}
	return sum
}

// A Sum adds float64 values and keeps the rounding error of each addition
// (Neumaier's algorithm). For all but the worst inputs the result has the error of
// one rounding. The zero value is 0.
type Sum struct{ sum, lost float64 }

// Add adds v.
func (s *Sum) Add(v float64) {
	t := s.sum + v
	if math.Abs(s.sum) >= math.Abs(v) {
		s.lost += (s.sum - t) + v
	} else {
		s.lost += (v - t) + s.sum
	}
	s.sum = t
}

// Value returns the sum.
func (s *Sum) Value() float64 { return s.sum + s.lost }

// These variables compile the instances that reports use into this package, so that
// a test can inspect their instructions.
var (
	_ = Quantile[int64]
	_ = Quantile[float64]
	_ = Squares[int64]
	_ = Squares[float64]
)
