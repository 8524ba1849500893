package quantile

import "math"

// Position returns where the quantile p (0 to 1) of n sorted values is: the value
// of index k, and the part f of the way to the next one, 0 ≤ f < 1. f is 0 at the
// last value. n must be at least 1.
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

// At returns the quantile p (0 to 1) of sorted values, of which there must be one:
//
//	x[k] + f · (x[k+1] − x[k])
//
// The difference is taken in float64: that of two int64 may not fit one.
func At[T int64 | float64](sorted []T, p float64) float64 {
	k, f := Position(len(sorted), p)
	a := float64(sorted[k])
	if f == 0 {
		return a
	}
	return a + float64(f*(float64(sorted[k+1])-a))
}

// Std returns the standard deviation of x, of which there must be one value, over
// the population: divided by the number of values, not by one less.
//
// The deviations from the mean are small beside the values, so that their squares
// do not cancel as those of E[x²]−E[x]² would.
func Std[T int64 | float64](x []T, mean float64) float64 {
	var squares float64
	for _, v := range x {
		d := float64(v) - mean
		squares += float64(d * d)
	}
	return math.Sqrt(squares / float64(len(x)))
}

// A Sum adds float64 values and keeps what each addition loses (Neumaier's
// algorithm): its error is that of one rounding for all but the worst inputs. The
// zero value is 0.
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

// The instances that reports use are compiled with this package, so that a test can
// look at their instructions.
var (
	_ = At[int64]
	_ = At[float64]
	_ = Std[int64]
	_ = Std[float64]
)
