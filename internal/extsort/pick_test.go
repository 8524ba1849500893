package extsort

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/testenv"
)

// Picked values are the values of a sorted copy, counted or merged, with outliers, ties and
// values that do not fit 32 bits.
func TestPick(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	draws := map[string]func() int64{
		"gaps":     func() int64 { return 8e6 + rng.Int64N(17e6) },
		"small":    func() int64 { return rng.Int64N(5000) },
		"outlier":  func() int64 { return int64(math.MaxUint32) >> (rng.IntN(1000) / 10) },
		"ties":     func() int64 { return 7 },
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
				memory := NewMemory(bytes, t.TempDir())
				s := memory.NewSorter()
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

// Ranges ascend with their values, without a gap up to the largest.
func TestRangeOf(t *testing.T) {
	last := uint32(0)
	for v := uint64(0); v <= math.MaxUint32; v += max(1, v>>(rangeBits+2)) {
		r := rangeOf(uint32(v))
		if r != last && r != last+1 {
			t.Fatalf("range of %d is %d, after %d", v, r, last)
		}
		last = r
	}
	if got := rangeOf(math.MaxUint32); got != ranges-1 {
		t.Errorf("range of the largest value is %d, want %d", got, ranges-1)
	}
}
