package numpy

import "math"

// Percentile returns np.percentile(x, pct), 0 ≤ pct ≤ 100, by numpy's default
// method, linear interpolation between the closest ranks. x must be sorted and
// not empty.
//
//	h = (n−1) · (pct/100)    t = h − ⌊h⌋    d = x[⌊h⌋+1] − x[⌊h⌋]
//	x[⌊h⌋] + d·t              for t < ½
//	x[⌊h⌋+1] − d·(1−t)        for t ≥ ½
//
// The two formulas are equal but for the last digits.
func Percentile[T int64 | float64](x []T, pct float64) float64 {
	h := float64(len(x)-1) * (pct / 100)
	k := math.Floor(h)
	t := h - k
	i := int(k)
	if i >= len(x)-1 {
		return float64(x[len(x)-1])
	}
	a, b := float64(x[i]), float64(x[i+1])
	d := b - a
	if t < 0.5 {
		return a + float64(d*t)
	}
	return b - float64(d*(1-t))
}
