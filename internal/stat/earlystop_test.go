package stat

import (
	"math"
	"math/big"
	"testing"
)

// The floors that mlcommons/endpoints publishes.
func TestCertifiedFloor(t *testing.T) {
	for _, tt := range []struct {
		percentile float64
		want       int
	}{
		{50, 11},
		{75, 24},
		{80, 31},
		{90, 64},
		{95, 130},
		{97, 219},
		{99, 662},
		{99.9, 6636},
		{99.99, 66381},
		{0, 0},   // edge
		{100, 0}, // edge
	} {
		if got := CertifiedFloor(tt.percentile / 100); got != tt.want {
			t.Errorf("CertifiedFloor(p%v) = %d, want %d", tt.percentile, got, tt.want)
		}
	}
}

// The worked example of the same page, and edges.
func TestCertifiedRank(t *testing.T) {
	for _, tt := range []struct {
		n    int
		p    float64
		want int
	}{
		{10_000, 0.99, 77},
		{662, 0.99, 1}, // the floor: the maximum
		{661, 0.99, 0},
		{0, 0.5, 0},
		{1, 0.5, 0},
		{1000, 1, 0},
		{1000, math.NaN(), 0},
	} {
		if got := CertifiedRank(tt.n, tt.p); got != tt.want {
			t.Errorf("CertifiedRank(%d, %v) = %d, want %d", tt.n, tt.p, got, tt.want)
		}
	}
}

// exactlyAtMost returns P(Binomial(n, over/denominator) ≤ t), term by term in whole numbers.
func exactlyAtMost(t, n int, over, denominator int64) *big.Rat {
	sum := new(big.Int)
	for i := 0; i <= t; i++ {
		term := new(big.Int).Binomial(int64(n), int64(i))
		term.Mul(term, new(big.Int).Exp(big.NewInt(over), big.NewInt(int64(i)), nil))
		term.Mul(term, new(big.Int).Exp(big.NewInt(denominator-over), big.NewInt(int64(n-i)), nil))
		sum.Add(sum, term)
	}
	return new(big.Rat).SetFrac(sum, new(big.Int).Exp(big.NewInt(denominator), big.NewInt(int64(n)), nil))
}

// The binomial sum in whole numbers is the oracle: t is within the limit, t+1 is not.
func TestCertifiedRankExact(t *testing.T) {
	limit := big.NewRat(1, 100)
	for _, tt := range []struct {
		over, denominator int64
		lengths           []int
	}{
		{1, 2, []int{10, 11, 12, 20, 64, 101, 300}},
		{1, 5, []int{30, 31, 45, 200}},
		{1, 10, []int{63, 64, 65, 100, 333}},
		{1, 100, []int{661, 662, 838, 839, 1500}},
	} {
		p := 1 - float64(tt.over)/float64(tt.denominator)
		for _, n := range tt.lengths {
			got := CertifiedRank(n, p)
			if got > 0 && exactlyAtMost(got, n, tt.over, tt.denominator).Cmp(limit) >= 0 {
				t.Errorf("CertifiedRank(%d, %v) = %d, whose probability is above 1 %%", n, p, got)
			}
			if exactlyAtMost(got+1, n, tt.over, tt.denominator).Cmp(limit) < 0 {
				t.Errorf("CertifiedRank(%d, %v) = %d, but %d is within 1 %% too", n, p, got, got+1)
			}
		}
	}
}

// Values that are worth as many whole independent ones certify as many parts of the values as these do,
// up to the rounding of one value. Fewer independent values than the floor certify nothing.
func TestDependentCertifiedRank(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n         int
		effective float64
		p         float64
	}{
		{1000, 100, 0.5},
		{1000, 500, 0.9},
		{6620, 662, 0.99},
		{10_000, 1000, 0.99},
	} {
		each := float64(tt.n) / tt.effective
		low := each * float64(CertifiedRank(int(tt.effective), tt.p))
		if got := float64(DependentCertifiedRank(tt.n, tt.effective, tt.p)); got < low || got >= low+each {
			t.Errorf("DependentCertifiedRank(%d, %v, %v) = %v, want from %v to below %v", tt.n, tt.effective, tt.p, got, low, low+each)
		}
	}
	for _, n := range []int{11, 64, 700} {
		if got, want := DependentCertifiedRank(n, float64(n), 0.5), CertifiedRank(n, 0.5); got != want { // edge: independent
			t.Errorf("%d independent values: %d, want %d", n, got, want)
		}
	}
	for _, effective := range []float64{0, 1, 10, math.NaN()} { // edge: below the floor, 11
		if got := DependentCertifiedRank(1000, effective, 0.5); got != 0 {
			t.Errorf("1000 values worth %v: %d, want 0", effective, got)
		}
	}
}

// More values never give a smaller budget, and its share approaches 1 − p from below.
func TestCertifiedRankGrows(t *testing.T) {
	for _, p := range []float64{0.5, 0.9, 0.99} {
		before := 0
		for n := 10; n < 1e8; n = n*3/2 + 1 {
			got := CertifiedRank(n, p)
			if got < before || float64(got) > float64(n)*(1-p) {
				t.Errorf("CertifiedRank(%d, %v) = %d after %d", n, p, got, before)
			}
			before = got
		}
		if share := float64(before) / 1e8 / (1 - p); share < 0.5 {
			t.Errorf("p = %v: a budget of %v of the values above the quantile", p, share)
		}
	}
}

func TestCertified(t *testing.T) {
	var sorted []int64
	for i := range int64(20) {
		sorted = append(sorted, 100+i)
	}
	// P(Binomial(20, ½) ≤ 4) = 0.59 %, ≤ 5: 2.07 %: the 4th highest.
	if got, ok := Certified(sorted, 0.5); got != 116 || !ok {
		t.Errorf("Certified(20 values, 0.5) = %d, %v, want 116", got, ok)
	}
	if got, ok := Certified(sorted, 0.9); ok {
		t.Errorf("Certified(20 values, 0.9) = %d, want none", got)
	}
	if got, ok := Certified([]float64(nil), 0.5); ok {
		t.Errorf("Certified(no values, 0.5) = %v, want none", got)
	}
}
