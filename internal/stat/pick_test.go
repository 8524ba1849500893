package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Picked values are the values of a sorted copy, counted or sorted, with outliers, ties,
// and values that float64 does not tell apart.
func TestListPick(t *testing.T) {
	testenv.NoRace(t)
	rng := rand.New(rand.NewPCG(5, 6))
	draws := map[string]func() int64{
		"gaps":     func() int64 { return 8e6 + rng.Int64N(17e6) },
		"small":    func() int64 { return rng.Int64N(5000) },
		"outlier":  func() int64 { return int64(math.MaxUint32) >> (rng.IntN(1000) / 10) },
		"ties":     func() int64 { return 7 },
		"large":    func() int64 { return math.MaxInt64 - rng.Int64N(1e5) },
		"ends":     func() int64 { return []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[rng.IntN(5)] },
		"negative": func() int64 { return rng.Int64N(1e6) - 10 },
	}
	for name, draw := range draws {
		for _, n := range []int{1, 2, leastPick - 1, leastPick, 3*leastPick/testenv.Stride(2) + 1} {
			values := make([]int64, n)
			for i := range values {
				values[i] = draw()
			}
			sorted := slices.Clone(values)
			slices.Sort(sorted)
			indexes := []int{0, n - 1}
			for range 20 {
				k := rng.IntN(n)
				indexes = append(indexes, k, min(k+1, n-1))
			}
			slices.Sort(indexes)
			indexes = slices.Compact(indexes)
			for _, bytes := range []int64{0, 300_000} {
				memory := NewStore(bytes, t.TempDir())
				s := memory.NewList(Whole)
				s.Add(values...)
				got, err := s.Pick(indexes)
				if err != nil || len(got) != len(indexes) {
					t.Fatalf("%d %s in %d bytes: %d values, %v; want %d", n, name, bytes, len(got), err, len(indexes))
				}
				for i, at := range indexes {
					if got[i] != sorted[at] {
						t.Fatalf("%d %s in %d bytes: value %d is %d, want %d", n, name, bytes, at, got[i], sorted[at])
					}
				}
				again, err := s.Pick(indexes[:1])
				if err != nil || again[0] != sorted[0] {
					t.Errorf("%d %s in %d bytes, once more: %v, %v; want %d", n, name, bytes, again, err, sorted[0])
				}
				if err := memory.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// An integer is within the bounds of its range, next to the limits of rounding, too.
func TestKeysOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 200_000 {
		v := rng.Int64() >> rng.IntN(64)
		if n%2 == 0 {
			v = int64(1)<<rng.IntN(64) + rng.Int64N(2000) - 1000
		}
		low, high := keysOf[int64](order(float64(v)) >> rangeShift)
		if k := keyOf(v); k < low || k > high || ofKey[int64](k) != v {
			t.Fatalf("the key of %d is %x, its range has %x to %x", v, k, low, high)
		}
		f := math.Float64frombits(rng.Uint64())
		low, high = keysOf[float64](order(f) >> rangeShift)
		if k := keyOf(f); !math.IsNaN(f) && (k < low || k > high || ofKey[float64](k) != f) {
			t.Fatalf("the key of %v is %x, its range has %x to %x", f, k, low, high)
		}
	}
}
