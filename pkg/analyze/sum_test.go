package analyze

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The oracle is big.Int.
func TestWideSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	edges := []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, 1_700_000_000_000_000_000}
	for round := range 200 {
		var s wideSum
		want := new(big.Int)
		for i := range 50 {
			a, b := rng.Uint64(), rng.Uint64()
			if i%3 == 0 {
				a, b = edges[rng.IntN(len(edges))], edges[rng.IntN(len(edges))]
			}
			s.addDiff(a, b)
			want.Add(want, new(big.Int).SetUint64(a))
			want.Sub(want, new(big.Int).SetUint64(b))
			s.add(int64(a))
			want.Add(want, big.NewInt(int64(a)))
		}
		if got := s.big(); got.Cmp(want) != 0 {
			t.Fatalf("round %d: sum = %s, want %s", round, got, want)
		}
		double := s
		double.plus(s)
		if got := double.big(); got.Cmp(want.Lsh(want, 1)) != 0 {
			t.Fatalf("round %d: sum + sum = %s, want %s", round, got, want)
		}
	}
}

// Division rounds once: 2⁵³+1 halved through float64 would lose the last bit.
func TestWideSumOver(t *testing.T) {
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
		var s wideSum
		s.add(tt.sum)
		if got := s.over(tt.n); got != tt.want {
			t.Errorf("%d / %d = %v, want %v", tt.sum, tt.n, got, tt.want)
		}
	}
}

func TestSpanNS(t *testing.T) {
	for _, tt := range []struct {
		from, to uint64
		want     int64
		ok       bool
	}{
		{5, 8, 3, true},
		{8, 5, -3, true},
		{7, 7, 0, true},
		{0, math.MaxInt64, math.MaxInt64, true},
		{0, math.MaxInt64 + 1, 0, false}, // too long
		{math.MaxInt64 + 1, 0, math.MinInt64, true},
		{math.MaxUint64, 0, 0, false},
		{0, math.MaxUint64, 0, false},
	} {
		got, ok := spanNS(tt.from, tt.to)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("spanNS(%d, %d) = %d, %v, want %d, %v", tt.from, tt.to, got, ok, tt.want, tt.ok)
		}
	}
}
