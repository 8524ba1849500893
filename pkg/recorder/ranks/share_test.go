package ranks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/ranks"
)

// owns reports whether request i belongs to s: the ranks take requests in turn.
func owns(s ranks.Share, i int) bool { return !s.Idle() && i%max(s.Size, 1) == s.Rank }

// The shares of all ranks are the whole: each request, slot and session is in exactly one.
func TestSharesAreTheWhole(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 9; size++ {
		for _, among := range []int{0, 1, 2, 3, 100} {
			for n := range 50 {
				owned := make([]int, n)
				counts, slots := 0, 0
				for rank := range size {
					s := ranks.Share{Rank: rank, Size: size}.Among(among)
					counts += s.Count(n)
					slots += s.Slots(n)
					var mine []int
					for k := range s.Count(n) {
						i := s.Number(k)
						if !owns(s, i) || s.Count(i) != k {
							t.Fatalf("rank %d of %d: number %d of request %d, which has count %d", rank, size, i, k, s.Count(i))
						}
						owned[i]++
						mine = append(mine, i)
					}
					var all []int
					for i := range n {
						if owns(s, i) {
							all = append(all, i)
						}
					}
					if !slices.Equal(mine, all) {
						t.Fatalf("rank %d of %d among %d: numbers %v, owns %v", rank, size, among, mine, all)
					}
				}
				if counts != n || slots != n {
					t.Fatalf("%d ranks among %d: %d requests and %d slots, want %d", size, among, counts, slots, n)
				}
				if i := slices.IndexFunc(owned, func(times int) bool { return times != 1 }); i >= 0 {
					t.Fatalf("%d ranks among %d: request %d is in %d shares", size, among, i, owned[i])
				}
			}
		}
		for i := range 200 {
			owners := 0
			for rank := range size {
				if (ranks.Share{Rank: rank, Size: size}).OwnsSession(fmt.Sprint("session ", i)) {
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("%d ranks: session %d has %d owners", size, i, owners)
			}
		}
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size, slots int
		want        []int
	}{
		{5, 16, []int{4, 3, 3, 3, 3}},
		{4, 2, []int{1, 1, 0, 0}},
		{1, 7, []int{7}},
	} {
		var got []int
		for rank := range tt.size {
			got = append(got, ranks.Share{Rank: rank, Size: tt.size}.Slots(tt.slots))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d slots over %d ranks: %v, want %v", tt.slots, tt.size, got, tt.want)
		}
	}
	if s := (ranks.Share{}); !s.Whole() || s.Idle() || s.Count(7) != 7 || !s.OwnsSession("a") {
		t.Errorf("the zero value is not the whole: %+v", s)
	}
	if s := (ranks.Share{Rank: 2, Size: 4}).Among(2); !s.Idle() || s.Count(9) != 0 {
		t.Errorf("rank 2 among 2 is not idle")
	}
}
