package stat

import "math"

// A NumpyVersion is a range of releases that add in the same order.
type NumpyVersion uint8

// NumpyBefore23 are the releases from 1.7 to 2.2, NumpyCurrent the releases from 2.3
// (June 2025) on, seen until 2.4.6.
const (
	NumpyCurrent  NumpyVersion = 0
	NumpyBefore23 NumpyVersion = 1
)

const (
	// numpyBuffer is how many elements numpy converts or copies at a time.
	numpyBuffer = 8192
	// numpyBlock is the most that is added without being halved.
	numpyBlock = 128
	// numpyLanes is the number of running sums within a block.
	numpyLanes = 8
)

// NumpySum returns np.sum(x, dtype=float), 0 when x is empty.
//
// Up to 128 elements are added in eight running sums, element i to sum i mod 8,
// which are then added in pairs; the elements left over come last. More elements are
// halved, the first half being a multiple of 8. Integers go through a buffer of 8192
// elements; each filling of the buffer is summed in this way and added to the total.
// Before release 2.3 floats do so too. Integers above 2⁵³ are rounded first, as numpy
// does.
func NumpySum[T int64 | float64](v NumpyVersion, x []T) float64 {
	return addBuffered(x, isInt[T]() || v == NumpyBefore23, func(x T) float64 { return float64(x) })
}

// addBuffered adds what term makes of the elements, through the buffer or not.
func addBuffered[T any](x []T, buffered bool, term func(T) float64) float64 {
	n := len(x)
	if buffered {
		n = numpyBuffer
	}
	total := 0.0
	for ; len(x) > n; x = x[n:] {
		total += pairwise(x[:n], term)
	}
	return total + pairwise(x, term)
}

// NumpyMean returns np.mean(x). x must not be empty.
func NumpyMean[T int64 | float64](v NumpyVersion, x []T) float64 {
	return NumpySum(v, x) / float64(len(x))
}

// NumpyStd returns np.std(x), the deviation of the population: the mean of the
// squared differences from the mean, in two passes. x must not be empty.
func NumpyStd[T int64 | float64](v NumpyVersion, x []T) float64 {
	mean := NumpyMean(v, x)
	squares := addBuffered(x, v == NumpyBefore23, func(x T) float64 { // x as floats
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
	case n < numpyLanes:
		sum := 0.0
		for _, v := range x {
			sum += term(v)
		}
		return sum
	case n > numpyBlock:
		half := n / 2
		half -= half % numpyLanes
		return pairwise(x[:half], term) + pairwise(x[half:], term)
	}
	var r [numpyLanes]float64
	for i := range r {
		r[i] = term(x[i])
	}
	i := numpyLanes
	for ; i+numpyLanes <= n; i += numpyLanes {
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

// NumpyPercentile returns np.percentile(x, pct), 0 ≤ pct ≤ 100, by numpy's default
// method, linear interpolation between the closest ranks (type 7). x must be sorted and
// not empty.
//
//	h = (n−1) · (pct/100)    t = h − ⌊h⌋    d = x[⌊h⌋+1] − x[⌊h⌋]
//	x[⌊h⌋] + d·t              for t < ½
//	x[⌊h⌋+1] − d·(1−t)        for t ≥ ½
//
// The two formulas differ in the last digits at most.
func NumpyPercentile[T int64 | float64](x []T, pct float64) float64 {
	i := NumpyRank(len(x), pct)
	return NumpyInterpolate(len(x), pct, float64(x[i]), float64(x[min(i+1, len(x)-1)]))
}

// NumpyRank returns ⌊h⌋, at most n−1: the index of the first of the two of n sorted values between
// which NumpyPercentile interpolates. n must be at least 1.
func NumpyRank(n int, pct float64) int {
	return min(int(math.Floor(float64(n-1)*(pct/100))), n-1)
}

// NumpyInterpolate returns NumpyPercentile of n values from the value at NumpyRank, a, and the value after
// it, b; b does not matter if a is the last value.
func NumpyInterpolate(n int, pct, a, b float64) float64 {
	h := float64(float64(n-1) * (pct / 100))
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

// NumpyMedian returns np.median(x): the middle value, or half the sum of the middle
// two. x must be sorted and not empty.
func NumpyMedian[T int64 | float64](x []T) float64 {
	n := len(x)
	if n%2 == 1 {
		return float64(x[n/2])
	}
	return (float64(x[n/2-1]) + float64(x[n/2])) / 2
}

// NumpyRound returns np.round(f, decimals), decimals 0 or more: f·10ᵈ rounded to the
// nearest whole number, halves to even, divided by 10ᵈ. The product is rounded
// too, so that this is not always the float nearest to what Python's round
// gives: 2.675 becomes 2.68 here and 2.67 there.
func NumpyRound(f float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.RoundToEven(float64(f*scale)) / scale
}

// numpyStdOf returns NumpyStd of n numbers with that mean. next returns the numbers in order, some at a time;
// numpyStdOf overwrites its slices.
func numpyStdOf(v NumpyVersion, n int, mean float64, next func() []float64) float64 {
	squares := numpySumOf(v == NumpyBefore23, n, func() []float64 {
		x := next()
		for i := range x {
			d := x[i] - mean
			x[i] = float64(d * d)
		}
		return x
	})
	return math.Sqrt(squares / float64(n))
}

// numpySumOf is addBuffered of n numbers that come in parts.
func numpySumOf(buffered bool, n int, next func() []float64) float64 {
	s := stream{next: next}
	total := 0.0
	if buffered {
		for ; n > numpyBuffer; n -= numpyBuffer {
			total += s.pairwise(numpyBuffer)
		}
	}
	return total + s.pairwise(n)
}

// A stream takes numbers from parts of any size.
type stream struct {
	next   func() []float64
	rest   []float64
	joined [numpyBlock]float64
}

// pairwise is pairwise of the next n numbers.
func (s *stream) pairwise(n int) float64 {
	if n > numpyBlock {
		half := n / 2
		half -= half % numpyLanes
		first := s.pairwise(half)
		return first + s.pairwise(n-half)
	}
	return pairwise(s.take(n), func(x float64) float64 { return x })
}

// take returns the next n numbers, at most numpyBlock, until the next call.
func (s *stream) take(n int) []float64 {
	if len(s.rest) >= n {
		x := s.rest[:n]
		s.rest = s.rest[n:]
		return x
	}
	x := s.joined[:0]
	for len(x) < n {
		if len(s.rest) == 0 {
			if s.rest = s.next(); len(s.rest) == 0 {
				panic("stat: fewer numbers than were announced")
			}
		}
		k := min(n-len(x), len(s.rest))
		x = append(x, s.rest[:k]...)
		s.rest = s.rest[k:]
	}
	return x
}
