package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The oracle is big.Int.
func TestIntSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	edges := []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, 1_700_000_000_000_000_000}
	for round := range 200 {
		var s IntSum
		want := new(big.Int)
		for i := range 50 {
			a, b := rng.Uint64(), rng.Uint64()
			if i%3 == 0 {
				a, b = edges[rng.IntN(len(edges))], edges[rng.IntN(len(edges))]
			}
			s.AddDiff(a, b)
			want.Add(want, new(big.Int).SetUint64(a))
			want.Sub(want, new(big.Int).SetUint64(b))
			s.Add(int64(a))
			want.Add(want, big.NewInt(int64(a)))
		}
		if got := s.Big(); got.Cmp(want) != 0 {
			t.Fatalf("round %d: sum = %s, want %s", round, got, want)
		}
		double := s
		double.AddSum(s)
		if got := double.Big(); got.Cmp(want.Lsh(want, 1)) != 0 {
			t.Fatalf("round %d: sum + sum = %s, want %s", round, got, want)
		}
	}
}

// Division rounds once: 2⁵³+1 halved through float64 would lose the last bit.
func TestIntSumOver(t *testing.T) {
	for _, tt := range []struct {
		sum  int64
		n    int
		want float64
	}{
		{0, 3, 0},
		{1, 3, 1.0 / 3},
		{-7, 2, -3.5},
		{1<<53 + 1, 1, 1 << 53},
		{1<<53 + 3, 1, 1<<53 + 4}, // ties to even
		{(1<<53 + 1) * 3, 3, 1 << 53},
		{math.MinInt64, 1, -(1 << 63)},
	} {
		var s IntSum
		s.Add(tt.sum)
		if got := s.Div(tt.n); got != tt.want {
			t.Errorf("%d / %d = %v, want %v", tt.sum, tt.n, got, tt.want)
		}
	}
	rng := rand.New(rand.NewPCG(2, 1))
	for range 2000 {
		sum, n := rng.Int64()>>rng.IntN(64), 1+rng.IntN(1<<rng.IntN(31))
		var s IntSum
		s.Add(sum)
		if want, _ := big.NewRat(sum, int64(n)).Float64(); s.Div(n) != want {
			t.Errorf("%d / %d = %v, want %v", sum, n, s.Div(n), want)
		}
	}
}

// Deviations by hand, one beyond the precision of a float64: the values differ by 2 at 2⁶².
func TestIntSquares(t *testing.T) {
	for _, tt := range []struct {
		values []int64
		want   float64
	}{
		{[]int64{5}, 0},
		{[]int64{1, 3}, 1},
		{[]int64{2, 4, 4, 4, 5, 5, 7, 9}, 2},
		{[]int64{1 << 62, 1<<62 + 2}, 1},
		{[]int64{math.MinInt64, math.MinInt64}, 0},
		{[]int64{math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64}, 1 << 63},
		{[]int64{-3, 3}, 3},
	} {
		var sum IntSum
		var squares IntSquares
		for _, v := range tt.values {
			sum.Add(v)
			squares.Add(v)
		}
		var all IntSum
		var allSquares IntSquares
		all.AddAll(tt.values)
		if allSquares.AddAll(tt.values); all != sum || allSquares != squares {
			t.Errorf("sums of %d: %v, %v together, %v, %v one by one", tt.values, all, allSquares, sum, squares)
		}
		first := tt.values[:1]
		all.Sub(sumOf(first))
		allSquares.Sub(squaresOf(first))
		if all != sumOf(tt.values[1:]) || allSquares != squaresOf(tt.values[1:]) {
			t.Errorf("sums of %d without the first: %v, %v", tt.values, all, allSquares)
		}
		if got := squares.Std(sum, len(tt.values)); got != tt.want {
			t.Errorf("deviation of %d is %v, want %v", tt.values, got, tt.want)
		}
	}
}

func sumOf(values []int64) (s IntSum) {
	s.AddAll(values)
	return s
}

func squaresOf(values []int64) (s IntSquares) {
	s.AddAll(values)
	return s
}
