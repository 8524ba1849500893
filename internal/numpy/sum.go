package numpy

import "math"

// A Version is a range of releases that add in the same order.
type Version uint8

// Before23 are the releases from 1.7 to 2.2, Current the releases from 2.3
// (June 2025) on, seen until 2.4.6.
const (
	Current  Version = 0
	Before23 Version = 1
)

const (
	// bufferLen is how many elements numpy converts or copies at a time.
	bufferLen = 8192
	// blockLen is the most that is added without being halved.
	blockLen = 128
	// lanes is the number of running sums within a block.
	lanes = 8
)

// Sum returns np.sum(x, dtype=float), 0 when x is empty.
//
// Up to 128 elements are added in eight running sums, element i to sum i mod 8,
// which are then added in pairs; the elements left over come last. More elements are
// halved, the first half being a multiple of 8. Integers go through a buffer of 8192
// elements; each filling of the buffer is summed in this way and added to the total.
// Before release 2.3 floats do so too. Integers above 2⁵³ are rounded first, as numpy
// does.
func Sum[T int64 | float64](v Version, x []T) float64 {
	return sum(x, isInt[T]() || v == Before23, func(x T) float64 { return float64(x) })
}

// sum adds what term makes of the elements, through the buffer or not.
func sum[T any](x []T, buffered bool, term func(T) float64) float64 {
	n := len(x)
	if buffered {
		n = bufferLen
	}
	total := 0.0
	for ; len(x) > n; x = x[n:] {
		total += pairwise(x[:n], term)
	}
	return total + pairwise(x, term)
}

// Mean returns np.mean(x). x must not be empty.
func Mean[T int64 | float64](v Version, x []T) float64 {
	return Sum(v, x) / float64(len(x))
}

// Std returns np.std(x), the deviation of the population: the mean of the
// squared differences from the mean, in two passes. x must not be empty.
func Std[T int64 | float64](v Version, x []T) float64 {
	mean := Mean(v, x)
	squares := sum(x, v == Before23, func(x T) float64 { // x as floats
		d := float64(x) - mean
		return float64(d * d)
	})
	return math.Sqrt(squares / float64(len(x)))
}

func isInt[T int64 | float64]() bool {
	half := 0.5
	return T(half) == 0
}

// pairwise adds as numpy's inner loop does.
func pairwise[T any](x []T, term func(T) float64) float64 {
	n := len(x)
	switch {
	case n < lanes:
		sum := 0.0
		for _, v := range x {
			sum += term(v)
		}
		return sum
	case n > blockLen:
		half := n / 2
		half -= half % lanes
		return pairwise(x[:half], term) + pairwise(x[half:], term)
	}
	var r [lanes]float64
	for i := range r {
		r[i] = term(x[i])
	}
	i := lanes
	for ; i+lanes <= n; i += lanes {
		for k := range r {
			r[k] += term(x[i+k])
		}
	}
	sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < n; i++ {
		sum += term(x[i])
	}
	return sum
}
