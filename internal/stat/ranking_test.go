package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A Ranking has the value of each place, whether it sorts a few parts or all values, from memory and from the file.
func TestRanking(t *testing.T) {
	t.Parallel()
	const many = leastRanked + 5000
	rng := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	for _, tt := range []struct {
		name  string
		n     int
		bytes int64
		parts bool // only parts are sorted for a few places
		draw  func(i int) int64
	}{
		{"few", 5000, 0, false, func(int) int64 { return rng.Int64N(1000) }},
		{"gaps", many, 0, true, func(int) int64 { return 8e6 + rng.Int64N(5e6) }},
		{"gaps in the file", many, 1, true, func(int) int64 { return 8e6 + rng.Int64N(5e6) }},
		{"an outlier", many, 0, true, func(i int) int64 { return 1e6 + rng.Int64N(1e6) + int64(i/(many-1))*1e15 }},
		{"around 0", many, 0, true, func(int) int64 { return rng.Int64N(2e6) - 1e6 }},
		{"wide", many, 0, true, func(int) int64 { return int64(rng.Uint64()) }},
		{"neighbors that no float64 tells apart", many, 0, true, func(i int) int64 { return math.MaxInt64 - int64(i)<<40 - rng.Int64N(3) }},
		{"ties", many, 0, false, func(int) int64 { return rng.Int64N(5) }},
		{"ends", many, 0, false, func(int) int64 { return []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[rng.IntN(5)] }},
	} {
		store := NewStore(tt.bytes, dir)
		l := store.NewList(Whole)
		want := make([]int64, tt.n)
		for i := range want {
			want[i] = tt.draw(i)
		}
		l.Add(want...)
		slices.Sort(want)
		r := l.NewRanking()
		check := func(i int) (next int) {
			from, numbers := r.Numbers(i)
			if i < from || i >= from+len(numbers) {
				t.Fatalf("%s: value %d is not among the values %d to %d", tt.name, i, from, from+len(numbers))
			}
			for k, v := range numbers {
				if v != float64(want[from+k]) {
					t.Fatalf("%s: value %d is %v, want %v", tt.name, from+k, v, float64(want[from+k]))
				}
			}
			return from + len(numbers)
		}
		for _, share := range [...]float64{0.5, 0, 0.99, 0.5, 1} {
			check(int(share * float64(tt.n-1)))
		}
		if parts := r.all == nil; parts != tt.parts {
			t.Errorf("%s: only parts are sorted: %v, want %v", tt.name, parts, tt.parts)
		}
		for i := 0; i < tt.n; {
			i = check(i)
		}
		if err := store.Err(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		_ = store.Close()
	}
}
