package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestOrder counts the places and the neighbours of each level, for sweeps of 0 to 12
// levels, and compares them with what Order documents.
func TestOrder(t *testing.T) {
	for n := range 13 {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%d levels, seed %d", n, seed), func(t *testing.T) {
				period := max(n, 2)
				if n%2 == 1 {
					period = 2 * n
				}
				at := map[[2]int]int{}    // by level and place
				after := map[[2]int]int{} // by level and the level before it
				var before []int
				for round := range 2 * period {
					order := Order(n, round, seed)
					if !slices.Equal(order, Order(n, round, seed)) {
						t.Fatalf("round %d differs from itself", round)
					}
					sorted := slices.Sorted(slices.Values(order))
					for i, level := range sorted {
						if i != level {
							t.Fatalf("round %d: %v is no permutation", round, order)
						}
					}
					if len(order) != n {
						t.Fatalf("round %d: %d levels, want %d", round, len(order), n)
					}
					if round%2 == 1 {
						slices.Reverse(before)
						if !slices.Equal(order, before) {
							t.Errorf("round %d: %v, want the reverse of the round before, %v", round, order, before)
						}
					}
					before = slices.Clone(order)
					for i, level := range order {
						at[[2]int{level, i}]++
						if i > 0 {
							after[[2]int{level, order[i-1]}]++
						}
					}
				}
				for level := range n {
					for other := range n {
						if got, want := at[[2]int{level, other}], 2*period/n; got != want {
							t.Errorf("level %d is %d times at place %d, want %d", level, got, other, want)
						}
						want := 2 * period / n
						if level == other {
							want = 0
						}
						if got := after[[2]int{level, other}]; got != want {
							t.Errorf("level %d follows %d times level %d, want %d", level, got, other, want)
						}
					}
				}
			})
		}
	}
}

// TestOrderSeed checks that seeds give different orders, and that the levels change their
// roles after n rounds.
func TestOrderSeed(t *testing.T) {
	const n = 8
	seen := map[string]bool{}
	for seed := range uint64(50) {
		seen[fmt.Sprint(Order(n, 0, seed))] = true
	}
	if len(seen) < 45 {
		t.Errorf("50 seeds gave %d orders of %d levels; nearly all should differ", len(seen), n)
	}
	if slices.Equal(Order(n, 0, 1), Order(n, n, 1)) {
		t.Error("the levels did not change their roles after n rounds")
	}
}

// The first server begins; each second round is the reverse of the round before.
func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want string // rounds
	}{
		{0, "[[] []]"},
		{1, "[[0] [0]]"},
		{2, "[[0 1] [1 0] [0 1] [1 0]]"},
		{3, "[[0 1 2] [2 1 0] [1 2 0] [0 2 1] [2 0 1] [1 0 2] [0 1 2]]"},
		{4, "[[0 1 3 2] [2 3 1 0] [1 2 0 3] [3 0 2 1] [0 1 3 2]]"},
	} {
		var got [][]int
		for round := range max(2, strings.Count(tt.want, "[")-1) {
			got = append(got, Turns(tt.n, round))
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%d servers: %v, want %s", tt.n, got, tt.want)
		}
	}
}
