package view

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAssignLanes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spans []Span
		lane  []int
		lanes int
	}{
		{"none", nil, []int{}, 0},
		{"slots", []Span{{0, 5, 1}, {1, 6, 0}, {5, 9, 1}, {6, 9, 0}}, []int{1, 0, 1, 0}, 2},
		{"no slots", []Span{{0, 5, -1}, {1, 3, -1}, {3, 9, -1}, {4, 9, -1}, {5, 6, -1}}, []int{0, 1, 1, 2, 0}, 3},
		{"a slot that is taken", []Span{{0, 5, 0}, {1, 6, 0}, {6, 7, 0}}, []int{0, 1, 0}, 2},
		{"a slot that is too high", []Span{{0, 5, 99}, {5, 6, 99}}, []int{0, 0}, 1},
		{"a slot above others", []Span{{0, 5, 2}, {1, 6, -1}, {2, 6, 1}}, []int{2, 3, 1}, 4},
		{"no length", []Span{{4, 4, 0}, {4, 4, 0}, {4, 5, 0}}, []int{0, 0, 0}, 1},
	} {
		lane, n := assignLanes(tt.spans)
		if !slices.Equal(lane, tt.lane) || n != tt.lanes {
			t.Errorf("%s: lanes %v of %d, want %v of %d", tt.name, lane, n, tt.lane, tt.lanes)
		}
	}
}

// The spans of a lane never overlap, and without slots the lanes are as many as spans at one time.
func TestNoOverlap(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		slots := rng.IntN(2) == 0
		var spans []Span
		begin := uint64(0)
		for range rng.IntN(60) + 1 {
			begin += rng.Uint64N(10)
			s := Span{begin, begin + rng.Uint64N(30), -1}
			if slots {
				s.Slot = rng.IntN(10)
			}
			spans = append(spans, s)
		}
		lane, n := assignLanes(spans)
		most := 0
		for i, s := range spans {
			busy := 0
			for k, o := range spans[:i+1] {
				if k == i || o.EndNS > s.BeginNS {
					busy++
				}
				if k < i && lane[k] == lane[i] && o.EndNS > s.BeginNS {
					t.Fatalf("seed %d: %v and %v are in lane %d", seed, o, s, lane[i])
				}
			}
			most = max(most, busy)
		}
		if !slots && n != most {
			t.Fatalf("seed %d: %d lanes for %d spans at a time", seed, n, most)
		}
	}
}
