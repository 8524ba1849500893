package analyze

import (
	"math/big"
	"math/bits"
)

// A wideSum adds 64-bit integers exactly.
//
// The value is the two's complement integer hi·2⁶⁴ + lo. Each term is smaller
// than 2⁶⁵ in magnitude (the difference of two uint64 needs 65 bits and a
// sign) and there are fewer than 2⁶² of them, so 128 bits never overflow.
// int64 would: a hundred thousand Unix times in nanoseconds are past 2⁶³.
type wideSum struct {
	hi int64
	lo uint64
}

// add adds v.
func (s *wideSum) add(v int64) {
	lo, carry := bits.Add64(s.lo, uint64(v), 0)
	s.lo = lo
	s.hi += v>>63 + int64(carry)
}

// addDiff adds a − b, which may be negative and may not fit an int64.
func (s *wideSum) addDiff(a, b uint64) {
	lo, carry := bits.Add64(s.lo, a, 0)
	lo, borrow := bits.Sub64(lo, b, 0)
	s.lo = lo
	s.hi += int64(carry) - int64(borrow)
}

// plus adds another sum.
func (s *wideSum) plus(t wideSum) {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	s.lo = lo
	s.hi += t.hi + int64(carry)
}

// big returns the sum as a big integer.
func (s *wideSum) big() *big.Int {
	z := big.NewInt(s.hi)
	z.Lsh(z, 64)
	return z.Add(z, new(big.Int).SetUint64(s.lo))
}

// over returns sum/n rounded once, to the nearest float64 (ties to even), as
// Python's int / int does. n must not be 0.
func (s *wideSum) over(n int) float64 {
	f, _ := new(big.Rat).SetFrac(s.big(), big.NewInt(int64(n))).Float64()
	return f
}

// float returns the sum rounded once.
func (s *wideSum) float() float64 { return s.over(1) }

// spanNS returns to − from in nanoseconds. ok is false when it does not fit an
// int64 (292 years), which only a damaged file or a placeholder such as
// perf_analyzer's window end 18446744073709551615 can bring about.
func spanNS(from, to uint64) (ns int64, ok bool) {
	d := to - from
	if to >= from {
		return int64(d), d <= 1<<63-1
	}
	return int64(d), -d <= 1<<63
}
