package stat

import (
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// momentBits is the precision of the sums of Moments. Sums of products have up to 600 bits, so only the quotients
// of squares are rounded.
const momentBits = 1024

// Moments computes the mean and the standard deviation of products and quotients of integers. It adds the numbers
// and their squares exactly (squares of quotients with momentBits bits), so the order of the numbers does not
// matter. The zero value is empty and ready for use.
type Moments struct {
	n      int
	scaled map[int]*scaledSums // by the exponent of their factors
	shared IntSum
	// squares holds the squares of the integers of AddShares, by the number of shares.
	squares [fewShares]IntSquares
	more    map[int32]*IntSquares // from fewShares on
}

const fewShares = 32

// scaledSums holds sums in units of a power of two: the sum of the numbers above 0, the sum of the magnitudes of
// the numbers below 0, and the sum of the squares.
type scaledSums struct{ above, below, squares wideInt }

// AddScaled adds f·x for n integers x, with their sum and the sum of their squares. f must be finite and
// above 0.
func (s *Moments) AddScaled(f float64, n int, sum IntSum, squares IntSquares) {
	s.n += n
	fraction, exponent := math.Frexp(f)
	p := s.scaled[exponent]
	if p == nil {
		if s.scaled == nil {
			s.scaled = map[int]*scaledSums{}
		}
		p = new(scaledSums)
		s.scaled[exponent] = p
	}
	m := uint64(fraction * (1 << mantissaBits))
	if sum.hi >= 0 {
		p.above.addProduct([2]uint64{m}, [3]uint64{sum.lo, uint64(sum.hi)})
	} else {
		low, borrow := bits.Sub64(0, sum.lo, 0)
		high, _ := bits.Sub64(0, uint64(sum.hi), borrow)
		p.below.addProduct([2]uint64{m}, [3]uint64{low, high})
	}
	high, low := bits.Mul64(m, m)
	p.squares.addProduct([2]uint64{low, high}, [3]uint64{squares.low, squares.mid, squares.high})
}

// mantissaBits is the number of bits of the mantissa of a float64.
const mantissaBits = 53

// AddShares adds the number x/k, k times, for each x of wholes and its k of shares: k equal shares of x. Each k must
// be at least 1.
func (s *Moments) AddShares(wholes []int64, shares []int32) {
	s.shared.AddAll(wholes)
	for i, x := range wholes {
		k := shares[i]
		s.n += int(k)
		if k < fewShares {
			s.squares[k].Add(x)
			continue
		}
		p := s.more[k]
		if p == nil {
			if s.more == nil {
				s.more = map[int32]*IntSquares{}
			}
			p = new(IntSquares)
			s.more[k] = p
		}
		p.Add(x)
	}
}

// Mean returns the mean, rounded once. s must not be empty.
func (s *Moments) Mean() float64 {
	sum, _ := s.sums()
	mean, _ := sum.Quo(sum, float(int64(s.n))).Float64()
	return mean
}

// Std returns the standard deviation over the population, exact up to the root, which is rounded. s must
// not be empty. For equal numbers it is 0 or, if they are quotients, below 2⁻⁴⁰⁰ of them.
func (s *Moments) Std() float64 {
	sum, squares := s.sums()
	n := float(int64(s.n))
	// √(n·Σx² − (Σx)²) ÷ n
	squares.Mul(squares, n)
	squares.Sub(squares, sum.Mul(sum, sum))
	variance, _ := squares.Quo(squares, n.Mul(n, n)).Float64()
	return math.Sqrt(max(variance, 0))
}

// sums returns the sum of the numbers and of their squares.
func (s *Moments) sums() (sum, squares *big.Float) {
	sum, squares = float(0), float(0)
	for _, exponent := range slices.Sorted(maps.Keys(s.scaled)) {
		p := s.scaled[exponent]
		unit := exponent - mantissaBits
		sum.Add(sum, p.above.times(unit))
		sum.Sub(sum, p.below.times(unit))
		squares.Add(squares, p.squares.times(2*unit))
	}
	sum.Add(sum, float(0).SetInt(s.shared.Big()))
	share := func(all *IntSquares, k int) { // k·(x/k)²
		x := float(0).SetInt(all.big())
		squares.Add(squares, x.Quo(x, float(int64(k))))
	}
	for k := 1; k < fewShares; k++ {
		share(&s.squares[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(s.more)) {
		share(s.more[k], int(k))
	}
	return sum, squares
}

func float(v int64) *big.Float { return new(big.Float).SetPrec(momentBits).SetInt64(v) }

// A wideInt is an integer from 0 to 2³⁸⁴−1, the lowest digits first.
type wideInt [6]uint64

// addProduct adds a·b. The lowest digits of a and b come first.
func (z *wideInt) addProduct(a [2]uint64, b [3]uint64) {
	for i, x := range a {
		if x == 0 {
			continue
		}
		for j, y := range b {
			if y == 0 {
				continue
			}
			high, low := bits.Mul64(x, y)
			var carry uint64
			z[i+j], carry = bits.Add64(z[i+j], low, 0)
			z[i+j+1], carry = bits.Add64(z[i+j+1], high, carry)
			for k := i + j + 2; carry > 0 && k < len(z); k++ {
				z[k], carry = bits.Add64(z[k], 0, carry)
			}
		}
	}
}

// times returns z·2^exponent.
func (z *wideInt) times(exponent int) *big.Float {
	x := new(big.Int)
	for _, digits := range slices.Backward(z[:]) {
		x.Lsh(x, 64)
		x.Add(x, new(big.Int).SetUint64(digits))
	}
	f := float(0).SetInt(x)
	return f.SetMantExp(f, exponent)
}
