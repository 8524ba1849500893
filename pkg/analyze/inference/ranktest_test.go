package inference

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// apart returns two sides of n0 and n1 values without ties for which U is u.
func apart(n0, n1, u int) (older, newer []float64) {
	for i := range n0 {
		older = append(older, float64(i))
	}
	for range n1 {
		below := min(u, n0) // old values that this one is larger than
		newer = append(newer, float64(below)-0.5+float64(len(newer))/1000)
		u -= below
	}
	return older, newer
}

// The printed tables of critical values: the largest U that is significant in
// a two-sided test, and the next one no longer.
func TestMannWhitneyCriticalValues(t *testing.T) {
	for _, tt := range []struct {
		n0, n1, at05, at01 int // −1: none
	}{
		{3, 5, 0, -1},
		{4, 4, 0, -1},
		{4, 6, 2, 0},
		{5, 5, 2, 0},
		{5, 8, 6, 2},
		{6, 6, 5, 2},
		{6, 8, 8, 4},
		{7, 7, 8, 4},
		{8, 8, 13, 7},
		{9, 9, 17, 11},
		{10, 10, 23, 16},
		{10, 15, 39, 29},
		{15, 15, 64, 51},
		{20, 20, 127, 105},
	} {
		for alpha, critical := range map[float64]int{0.05: tt.at05, 0.01: tt.at01} {
			for u, want := range map[int]bool{critical: true, critical + 1: false} {
				if u < 0 {
					continue
				}
				r := MannWhitney(apart(tt.n0, tt.n1, u))
				if r.U != float64(u) || !r.Exact {
					t.Fatalf("%d and %d values: U = %v, want %d", tt.n0, tt.n1, r.U, u)
				}
				if got := r.P <= alpha; got != want {
					t.Errorf("%d and %d values, U = %d: P = %v; P ≤ %v is %v, want %v", tt.n0, tt.n1, u, r.P, alpha, got, want)
				}
			}
		}
	}
}

// Exact probabilities that can be counted by hand: 20 divisions of 3 and 3.
func TestMannWhitneyByHand(t *testing.T) {
	for u, want := range []float64{0.1, 0.2, 0.4, 0.7, 1, 1, 0.7, 0.4, 0.2, 0.1} {
		if r := MannWhitney(apart(3, 3, u)); !near(r.P, want, 1e-12) {
			t.Errorf("U = %d: P = %v, want %v", u, r.P, want)
		}
	}
}

// With ties, against all divisions of the same values.
func TestMannWhitneyTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		older, newer := make([]float64, 3+rng.IntN(4)), make([]float64, 3+rng.IntN(4))
		for _, side := range [][]float64{older, newer} {
			for i := range side {
				side[i] = float64(rng.IntN(4))
			}
		}
		got := MannWhitney(older, newer)
		if got.NA.Missing() {
			continue
		}
		u := countU(older, newer)
		all := slices.Concat(older, newer)
		var below, above, total float64
		for set := range uint(1) << len(all) {
			if bits.OnesCount(set) != len(newer) {
				continue
			}
			var a, b []float64
			for i, v := range all {
				if set>>i&1 == 1 {
					b = append(b, v)
				} else {
					a = append(a, v)
				}
			}
			total++
			if countU(a, b) <= u {
				below++
			}
			if countU(a, b) >= u {
				above++
			}
		}
		if want := math.Min(1, 2*math.Min(below, above)/total); got.U != u || !near(got.P, want, 1e-12) {
			t.Errorf("%v and %v: U = %v, P = %v, want %v, %v", older, newer, got.U, got.P, u, want)
		}
	}
}

func countU(older, newer []float64) (u float64) {
	for _, a := range older {
		for _, b := range newer {
			switch {
			case b > a:
				u++
			case b == a:
				u += 0.5
			}
		}
	}
	return u
}

// Where the exact test ends the normal distribution is close to it.
func TestMannWhitneyNormal(t *testing.T) {
	for _, u := range []int{150, 200, 250, 300} {
		exact, normal := MannWhitney(apart(25, 25, u)), MannWhitney(apart(25, 26, u*26/25))
		if !exact.Exact || normal.Exact || math.Abs(exact.P-normal.P) > 0.02 {
			t.Errorf("U = %d: %+v exactly, %+v with one value more", u, exact, normal)
		}
	}
}

func TestMannWhitneyNotAvailable(t *testing.T) {
	for _, tt := range []struct {
		name         string
		older, newer []float64
		reason       string
	}{
		{"empty", nil, []float64{1}, "an empty side"},
		{"NaN", []float64{1, math.NaN()}, []float64{1}, "a value is NaN"},
		{"infinite", []float64{1}, []float64{math.Inf(1)}, "a value is +Inf"},
		{"the same", []float64{2, 2}, []float64{2, 2, 2}, "all values are the same"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := MannWhitney(tt.older, tt.newer)
			if !strings.Contains(r.NA.Reason, tt.reason) || !math.IsNaN(r.P) {
				t.Errorf("%+v, want none because %q", r, tt.reason)
			}
		})
	}
}
