package stat

import (
	"math"
	"math/big"
	"math/bits"
)

// An IntSum adds 64-bit integers exactly. The zero value is 0.
//
// The value is the two's complement integer hi·2⁶⁴ + lo. Each term is smaller
// than 2⁶⁵ in magnitude (the difference of two uint64 needs 65 bits and a
// sign) and there are fewer than 2⁶² of them, so 128 bits never overflow.
// int64 would: a hundred thousand Unix times in nanoseconds are past 2⁶³.
type IntSum struct {
	hi int64
	lo uint64
}

// Add adds v.
func (s *IntSum) Add(v int64) {
	lo, carry := bits.Add64(s.lo, uint64(v), 0)
	s.lo = lo
	s.hi += v>>63 + int64(carry)
}

// AddAll adds the values.
func (s *IntSum) AddAll(values []int64) {
	hi, lo := s.hi, s.lo
	for _, v := range values {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(v), 0)
		hi += v>>63 + int64(carry)
	}
	s.hi, s.lo = hi, lo
}

// AddDiff adds a − b, which may be negative and may not fit an int64.
func (s *IntSum) AddDiff(a, b uint64) {
	lo, carry := bits.Add64(s.lo, a, 0)
	lo, borrow := bits.Sub64(lo, b, 0)
	s.lo = lo
	s.hi += int64(carry) - int64(borrow)
}

// AddSum adds another sum.
func (s *IntSum) AddSum(t IntSum) {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	s.lo = lo
	s.hi += t.hi + int64(carry)
}

// Sub subtracts another sum.
func (s *IntSum) Sub(t IntSum) {
	lo, borrow := bits.Sub64(s.lo, t.lo, 0)
	s.lo = lo
	s.hi -= t.hi + int64(borrow)
}

// Big returns the sum as a big integer.
func (s *IntSum) Big() *big.Int {
	z := big.NewInt(s.hi)
	z.Lsh(z, 64)
	return z.Add(z, new(big.Int).SetUint64(s.lo))
}

// Div returns the sum divided by n, rounded once, to the nearest float64 (ties to even), as
// Python's int / int does. n must not be 0.
func (s *IntSum) Div(n int) float64 {
	const exact = 1 << 53 // float64 holds all integers up to here, and divides them rounding once
	if s.hi == 0 && s.lo <= exact && 0 < n && int64(n) <= exact {
		return float64(s.lo) / float64(n)
	}
	f, _ := new(big.Rat).SetFrac(s.Big(), big.NewInt(int64(n))).Float64()
	return f
}

// Float64 returns the sum rounded once.
func (s *IntSum) Float64() float64 { return s.Div(1) }

// IntSquares adds the squares of 64-bit integers exactly. The zero value is 0. The squares
// are below 2¹²⁷ and fewer than 2⁶⁴, so 192 bits never overflow.
type IntSquares struct{ high, mid, low uint64 }

// Add adds the square of v.
func (s *IntSquares) Add(v int64) {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	high, low := bits.Mul64(u, u)
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.mid, carry = bits.Add64(s.mid, high, carry)
	s.high += carry
}

// AddAll adds the squares of the values.
func (s *IntSquares) AddAll(values []int64) {
	sum := *s
	for _, v := range values {
		u := uint64(v^v>>63) - uint64(v>>63) // |v|
		high, low := bits.Mul64(u, u)
		var carry uint64
		sum.low, carry = bits.Add64(sum.low, low, 0)
		sum.mid, carry = bits.Add64(sum.mid, high, carry)
		sum.high += carry
	}
	*s = sum
}

// Sub subtracts squares that were added before.
func (s *IntSquares) Sub(t IntSquares) {
	var borrow uint64
	s.low, borrow = bits.Sub64(s.low, t.low, 0)
	s.mid, borrow = bits.Sub64(s.mid, t.mid, borrow)
	s.high -= t.high + borrow
}

// big returns the sum as a big integer.
func (s *IntSquares) big() *big.Int {
	z := new(big.Int)
	for _, part := range [...]uint64{s.high, s.mid, s.low} {
		z.Lsh(z, 64)
		z.Add(z, new(big.Int).SetUint64(part))
	}
	return z
}

// Std returns the standard deviation over the population of n integers with these squares and
// this sum: √(n·Σx² − (Σx)²) ÷ n, exact up to the root, which is rounded. n must not be 0.
func (s *IntSquares) Std(sum IntSum, n int) float64 {
	count := big.NewInt(int64(n))
	z := new(big.Int).Mul(count, s.big())
	total := sum.Big()
	z.Sub(z, total.Mul(total, total))
	variance, _ := new(big.Rat).SetFrac(z, count.Mul(count, count)).Float64()
	return math.Sqrt(variance)
}
