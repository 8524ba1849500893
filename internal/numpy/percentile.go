package numpy

import "math"

// Percentile returns np.percentile(x, pct), 0 ≤ pct ≤ 100, by numpy's default
// method, linear interpolation between the closest ranks (type 7). x must be sorted and
// not empty.
//
//	h = (n−1) · (pct/100)    t = h − ⌊h⌋    d = x[⌊h⌋+1] − x[⌊h⌋]
//	x[⌊h⌋] + d·t              for t < ½
//	x[⌊h⌋+1] − d·(1−t)        for t ≥ ½
//
// The two formulas are equal but for the last digits.
func Percentile[T int64 | float64](x []T, pct float64) float64 {
	i := Rank(len(x), pct)
	return Interpolate(len(x), pct, float64(x[i]), float64(x[min(i+1, len(x)-1)]))
}

// Rank returns ⌊h⌋, at most n−1: the index of the first of the two of n sorted values between
// which Percentile interpolates. n must be at least 1.
func Rank(n int, pct float64) int {
	return min(int(math.Floor(float64(n-1)*(pct/100))), n-1)
}

// Interpolate returns Percentile of n values from the value at Rank, a, and the value after
// it, b; b does not matter if a is the last value.
func Interpolate(n int, pct, a, b float64) float64 {
	h := float64(n-1) * (pct / 100)
	k := math.Floor(h)
	t := h - k
	if int(k) >= n-1 {
		return a
	}
	d := b - a
	if t < 0.5 {
		return a + float64(d*t)
	}
	return b - float64(d*(1-t))
}

// Median returns np.median(x): the middle value, or half the sum of the middle
// two. x must be sorted and not empty.
func Median[T int64 | float64](x []T) float64 {
	n := len(x)
	if n%2 == 1 {
		return float64(x[n/2])
	}
	return (float64(x[n/2-1]) + float64(x[n/2])) / 2
}

// Round returns np.round(f, decimals), decimals 0 or more: f·10ᵈ rounded to the
// nearest whole number, halves to even, divided by 10ᵈ. The product is rounded
// too, so that this is not always the float nearest to what Python's round
// gives: 2.675 becomes 2.68 here and 2.67 there.
func Round(f float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.RoundToEven(float64(f*scale)) / scale
}
