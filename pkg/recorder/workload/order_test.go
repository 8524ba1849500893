package workload

import (
	"math"
	"slices"
	"testing"
)

// TestOrderRounds checks that sequential and shuffled orders send every entry once per round,
// and that only the sequential order repeats.
func TestOrderRounds(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 16, 17, 100, 1000} {
		for _, o := range []Order{{}, {Shuffled, 0}, {Shuffled, 1}, {Shuffled, math.MaxUint64}} {
			var rounds [3][]int
			for i := range 3 * n {
				rounds[i/n] = append(rounds[i/n], o.Index(i, n))
			}
			for r, round := range rounds {
				sorted := slices.Sorted(slices.Values(round))
				for k := range n {
					if sorted[k] != k {
						t.Fatalf("%v of %d, round %d: %v is no permutation", o, n, r, round)
					}
				}
			}
			if same := slices.Equal(rounds[0], rounds[1]); n >= 16 && same != (o.Kind == Sequential) {
				t.Errorf("%v of %d: two rounds equal: %v", o, n, same)
			}
		}
	}
}

// TestShuffleIsFair checks that over many seeds each entry has each place equally often, by
// chi-squared with 49 degrees of freedom. It also counts two neighbours, because a
// permutation that only rotates keeps them together.
func TestShuffleIsFair(t *testing.T) {
	const n, seeds = 50, 20000
	var at [n][n]int
	next := 0
	for seed := range uint64(seeds) {
		o := Order{Shuffled, seed}
		for i := range n {
			at[i][o.Index(i, n)]++
		}
		if (o.Index(0, n)+1)%n == o.Index(1, n) {
			next++
		}
	}
	for i := range n {
		if chi := chiSquared(at[i][:], seeds); chi > 108 { // p ≈ 2e-6 for one place
			t.Errorf("place %d: chi² = %.1f", i, chi)
		}
	}
	if want := float64(seeds) / (n - 1); math.Abs(float64(next)-want) > 5*math.Sqrt(want) {
		t.Errorf("the second entry is the neighbour of the first %d times, want about %.0f", next, want)
	}
}

func TestRandomIsFair(t *testing.T) {
	const n, draws = 50, 100000
	var count [n]int
	pairs := 0
	o := Order{Random, 7}
	for i := range draws {
		count[o.Index(i, n)]++
		if o.Index(i, n) == o.Index(i+1, n) {
			pairs++
		}
	}
	if chi := chiSquared(count[:], draws); chi > 108 {
		t.Errorf("chi² = %.1f", chi)
	}
	if want := float64(draws) / n; math.Abs(float64(pairs)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d equal neighbours, want about %.0f", pairs, want)
	}
}

// TestOrderStays pins the orders, which must be the same in all releases.
func TestOrderStays(t *testing.T) {
	for _, tt := range []struct {
		o    Order
		want []int
	}{
		{Order{Sequential, 9}, []int{0, 1, 2, 3, 4, 5, 6, 0, 1, 2}},
		{Order{Shuffled, 0}, []int{1, 0, 5, 2, 6, 3, 4, 1, 6, 4}},
		{Order{Shuffled, 1}, []int{5, 6, 3, 0, 4, 2, 1, 3, 1, 2}},
		{Order{Random, 1}, []int{2, 3, 5, 4, 6, 3, 1, 1, 1, 1}},
	} {
		var got []int
		for i := range 10 {
			got = append(got, tt.o.Index(i, 7))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v with seed %d: %v, want %v", tt.o.Kind, tt.o.Seed, got, tt.want)
		}
	}
}

// chiSquared returns chi-squared of the counts in cells, which sum to total, against equal
// counts.
func chiSquared(cells []int, total int) (sum float64) {
	want := float64(total) / float64(len(cells))
	for _, c := range cells {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	return sum
}

func TestParseOrderKind(t *testing.T) {
	for _, k := range []OrderKind{Sequential, Shuffled, Random} {
		if got, err := ParseOrderKind(k.String()); err != nil || got != k {
			t.Errorf("ParseOrderKind(%q) = %v, %v", k, got, err)
		}
	}
	if _, err := ParseOrderKind("sorted"); err == nil {
		t.Error("no error for an unknown order")
	}
}

func BenchmarkShuffle(b *testing.B) {
	b.ReportAllocs()
	o, i := Order{Shuffled, 1}, 0
	for b.Loop() {
		o.Index(i, 1_000_003)
		i++
	}
}
