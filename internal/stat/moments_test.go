package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// By hand: 2·{1, 3} and 6/3 three times: 2, 6, 2, 2, 2 with mean 2.8 and variance (4·0.64+10.24)/5 = 2.56.
func TestMoments(t *testing.T) {
	var s Moments
	var squares IntSquares
	var sum IntSum
	sum.AddAll([]int64{1, 3})
	squares.AddAll([]int64{1, 3})
	s.AddScaled(2, 2, sum, squares)
	s.AddShares([]int64{6}, []int32{3})
	if s.Mean() != 2.8 || s.Std() != 1.6 {
		t.Errorf("mean %v, deviation %v; want 2.8, 1.6", s.Mean(), s.Std())
	}
}

// The oracle adds fractions.
func TestMomentsRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 300 / testenv.Stride(3) {
		var s Moments
		n, sum, sumOfSquares := int64(0), new(big.Rat), new(big.Rat)
		add := func(v *big.Rat) {
			n++
			sum.Add(sum, v)
			sumOfSquares.Add(sumOfSquares, new(big.Rat).Mul(v, v))
		}
		for range 1 + rng.IntN(20) {
			if rng.IntN(2) == 0 {
				x, k := rng.Int64N(1<<62)>>rng.IntN(60)-5, 1+rng.Int32N(5)*rng.Int32N(10)
				s.AddShares([]int64{x, -x, 7}, []int32{k, 1, k})
				for range k {
					add(big.NewRat(x, int64(k)))
					add(big.NewRat(7, int64(k)))
				}
				add(big.NewRat(-x, 1))
				continue
			}
			f := rng.Float64() * math.Ldexp(1, rng.IntN(64)-32)
			if f == 0 {
				f = 1
			}
			var squares IntSquares
			var total IntSum
			count := rng.IntN(5)
			for range count {
				x := (rng.Int64N(1<<60) >> rng.IntN(60)) - 1000
				total.Add(x)
				squares.Add(x)
				v := new(big.Rat).SetFloat64(f)
				add(v.Mul(v, new(big.Rat).SetInt64(x)))
			}
			s.AddScaled(f, count, total, squares)
		}
		if n == 0 {
			continue
		}
		mean := new(big.Rat).Quo(sum, big.NewRat(n, 1))
		variance := new(big.Rat).Quo(sumOfSquares, big.NewRat(n, 1))
		variance.Sub(variance, new(big.Rat).Mul(mean, mean))
		wantMean, _ := mean.Float64()
		wantVariance, _ := variance.Float64()
		if got, want := s.Std(), math.Sqrt(wantVariance); s.Mean() != wantMean || math.Abs(got-want) > 1e-15*want {
			t.Fatalf("round %d: %d numbers: mean %v, deviation %v; want %v, %v", round, n, s.Mean(), got, wantMean, want)
		}
	}
}

// Equal numbers deviate by nothing, not by a rounding error: a sum of floats would.
func TestMomentsEqual(t *testing.T) {
	var s Moments
	third := 1 / 3.0
	for range 1000 {
		var sum IntSum
		var squares IntSquares
		sum.Add(7)
		squares.Add(7)
		s.AddScaled(third, 1, sum, squares)
	}
	if s.Std() != 0 || s.Mean() != 7*third {
		t.Errorf("mean %v, deviation %v", s.Mean(), s.Std())
	}
	var shares Moments
	for range 1000 {
		shares.AddShares([]int64{7, 7}, []int32{3, 3})
	}
	if got := shares.Std(); got > 1e-120 || shares.Mean() != 7/3.0 {
		t.Errorf("of shares: mean %v, deviation %v", shares.Mean(), got)
	}
}

// A carry runs through all digits.
func TestWideInt(t *testing.T) {
	z := wideInt{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
	z.addProduct([2]uint64{1}, [3]uint64{1})
	if z != (wideInt{5: 1}) {
		t.Errorf("%x", z)
	}
}
