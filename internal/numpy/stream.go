package numpy

import "math"

// SumOf returns Sum of n numbers that next returns in order, some at a time. whole says that
// numpy has them as integers.
func SumOf(v Version, whole bool, n int, next func() []float64) float64 {
	return sumOf(whole || v == Before23, n, next)
}

// StdOf returns Std of n numbers with that Mean, which next returns as for SumOf. StdOf
// overwrites the slices that it gets.
func StdOf(v Version, n int, mean float64, next func() []float64) float64 {
	squares := sumOf(v == Before23, n, func() []float64 {
		x := next()
		for i := range x {
			d := x[i] - mean
			x[i] = float64(d * d)
		}
		return x
	})
	return math.Sqrt(squares / float64(n))
}

// sumOf is sum of n numbers that come in parts.
func sumOf(buffered bool, n int, next func() []float64) float64 {
	s := stream{next: next}
	total := 0.0
	if buffered {
		for ; n > bufferLen; n -= bufferLen {
			total += s.pairwise(bufferLen)
		}
	}
	return total + s.pairwise(n)
}

// A stream takes numbers from parts of any size.
type stream struct {
	next   func() []float64
	rest   []float64
	joined [blockLen]float64
}

// pairwise is pairwise of the next n numbers.
func (s *stream) pairwise(n int) float64 {
	if n > blockLen {
		half := n / 2
		half -= half % lanes
		first := s.pairwise(half)
		return first + s.pairwise(n-half)
	}
	return pairwise(s.take(n), func(x float64) float64 { return x })
}

// take returns the next n numbers, at most blockLen, until the next call.
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
				panic("numpy: fewer numbers than were announced")
			}
		}
		k := min(n-len(x), len(s.rest))
		x = append(x, s.rest[:k]...)
		s.rest = s.rest[k:]
	}
	return x
}
