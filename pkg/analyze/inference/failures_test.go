package inference

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Tea tasting and other tables, by hand from binomial coefficients.
func TestMoreFailures(t *testing.T) {
	for _, tt := range []struct {
		oldFailed, oldAll, newFailed, newAll int
		want                                 float64
	}{
		{1, 4, 3, 4, 1./70 + 16./70/2}, // Fisher's tea: P(4) + P(3)/2
		{0, 4, 4, 4, 1. / 70 / 2},
		{4, 4, 0, 4, 1 - 1./70/2},
		{0, 2, 1, 2, 0.25},
		{0, 60, 0, 60, 0.5},
		{0, 0, 3, 5, 0.5},
		{3, 5, 0, 0, 0.5},
	} {
		got := MoreFailures(tt.oldFailed, tt.oldAll, tt.newFailed, tt.newAll)
		if !near(got, tt.want, 1e-12) {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// The two directions are complementary, and no count makes the result leave 0 to 1.
func TestMoreFailuresLarge(t *testing.T) {
	for _, tt := range [][4]int{
		{0, 1 << 40, 1000, 1 << 40},
		{100_000, 1_000_000, 900_000, 1_000_000},
		{1_000_000, 1_000_000, 0, 1_000_000},
		{5, 10, 5_000_000, 10_000_000},
		{3, 7, 2, 1_000_000},
	} {
		more, fewer := MoreFailures(tt[0], tt[1], tt[2], tt[3]), MoreFailures(tt[2], tt[3], tt[0], tt[1])
		if !near(more+fewer, 1, 1e-9) || more < 0 || fewer < 0 {
			t.Errorf("%v: %v and %v", tt, more, fewer)
		}
	}
	for _, tt := range [][4]int{{-1, 5, 0, 5}, {0, 5, 6, 5}, {2, 1, 0, 5}, {0, 5, 0, -1}} {
		if got := MoreFailures(tt[0], tt[1], tt[2], tt[3]); !math.IsNaN(got) {
			t.Errorf("%v: %v, want NaN", tt, got)
		}
		if FailsMore(tt[0], tt[1], tt[2], tt[3]) {
			t.Errorf("%v fails more", tt)
		}
	}
}

func TestFailsMore(t *testing.T) {
	const k = 1_000_000
	for _, tt := range []struct {
		oldFailed, oldAll, newFailed, newAll int
		want                                 bool
	}{
		{0, 60, 20, 60, true},
		{20, 60, 0, 60, false},
		{0, 300, 153, 300, true},
		{0, 60, 1, 60, false},           // by chance
		{0, 100 * k, k, 100 * k, false}, // one point exactly, proven
		{0, 100 * k, k + 1, 100 * k, true},
		{k, 100 * k, 2 * k, 100 * k, false}, // in floating point, 0.02 − 0.01 and the like may exceed 0.01
		{2 * k, 100 * k, 3 * k, 100 * k, false},
		{3 * k, 100 * k, 4 * k, 100 * k, false},
		{6 * k, 100 * k, 7 * k, 100 * k, false},
		{9 * k, 100 * k, 10 * k, 100 * k, false},
		{9 * k, 100 * k, 10*k + 1, 100 * k, true},
		{9 << 40, 100 << 40, 10 << 40, 100 << 40, false}, // products beyond 64 bits
	} {
		if got := FailsMore(tt.oldFailed, tt.oldAll, tt.newFailed, tt.newAll); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// Builds that fail equally often: at most 1.3 % of comparisons find more failures. 30 % against 0
// are always found in 60 requests.
func TestFailsMoreSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 1))
	count := func(n int, share float64) (failed int) {
		for range n {
			failed += one(rng.Float64() < share)
		}
		return failed
	}
	const draws = 2000
	for _, tt := range []struct {
		oldAll, newAll int
		share          float64
	}{{100, 100, 0.02}, {300, 100, 0.02}, {60, 60, 0.3}, {2000, 100, 0.02}} {
		found := 0
		for range draws {
			found += one(FailsMore(count(tt.oldAll, tt.share), tt.oldAll, count(tt.newAll, tt.share), tt.newAll))
		}
		if found > draws*13/1000 {
			t.Errorf("%+v: %d of %d", tt, found, draws)
		}
	}
	for range 200 {
		if failed := count(60, 0.3); !FailsMore(0, 60, failed, 60) {
			t.Errorf("%d of 60 against 0 of 60 not found", failed)
		}
	}
}
