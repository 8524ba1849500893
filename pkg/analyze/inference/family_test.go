package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Values of scipy.special.owens_t, of Patefield and Tandy (Journal of Statistical Software 5,
// 2000), and T(h, 1) = Φ(h)·Φ(−h)/2.
func TestOwenT(t *testing.T) {
	for _, tt := range []struct{ h, a, want float64 }{
		{0.0625, 0.25, 3.8911930234701366e-2},
		{6.5, 0.4375, 2.0005773048508315e-11},
		{7, 0.96875, 6.3990627193898685e-13},
		{4.78125, 0.0625, 1.0632974804687463e-7},
		{2, 0.5, 8.6250779855215071e-3},
		{1, 0.9999975, 6.6741808978228592e-2},
		{1.5, 1, math.Erfc(1.5/math.Sqrt2) / 2 * math.Erfc(-1.5/math.Sqrt2) / 4},
		{0, 1, 0.125},
		{2, 0, 0},
	} {
		if got := owenT(tt.h, tt.a); math.Abs(got-tt.want) > 1e-5*tt.want {
			t.Errorf("T(%v, %v) = %v, want %v", tt.h, tt.a, got, tt.want)
		}
	}
}

// sidesOf returns two sides of 5 values of some metrics. The logarithms are normal, with this
// correlation of each metric with the first.
func sidesOf(rng *rand.Rand, correlations ...float64) (older, newer [][]float64) {
	older, newer = make([][]float64, len(correlations)), make([][]float64, len(correlations))
	for run := range 10 {
		first := rng.NormFloat64()
		for m, r := range correlations {
			v := math.Exp(0.01 * (r*first + math.Sqrt(1-r*r)*rng.NormFloat64()))
			if run < 5 {
				older[m] = append(older[m], v)
			} else {
				newer[m] = append(newer[m], v)
			}
		}
	}
	return older, newer
}

func testsOf(older, newer [][]float64) []Test {
	tests := make([]Test, len(older))
	for i := range tests {
		c := Welch(older[i], newer[i])
		tests[i] = Test{P: c.P, Older: older[i], Newer: newer[i]}
	}
	return tests
}

// Adjusted p-values lie between the p-values and Holm's, in the same order, and an interval at
// the level of the test leaves out 0 exactly if its adjusted p-value is at most alpha.
func TestAdjust(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	found, holmFound := 0, 0
	for range 300 / testenv.Stride(3) {
		older, newer := sidesOf(rng, 1, 0.99, 0.5, 0, -0.99)
		for i := range newer[1] {
			newer[1][i] *= 1.02
			newer[2][i] *= 1.02
		}
		tests := testsOf(older, newer)
		tests = append(tests, Test{P: 0.03, Least: 0.02}, Test{P: math.NaN()})
		var ps []float64
		for _, x := range tests {
			ps = append(ps, x.P)
		}
		adjusted, levels := Adjust(tests, 0.05)
		holm := Holm(ps)
		for i, p := range ps {
			if math.IsNaN(p) {
				if !math.IsNaN(adjusted[i]) || !math.IsNaN(levels[i]) {
					t.Fatalf("NaN became %v at level %v", adjusted[i], levels[i])
				}
				continue
			}
			if adjusted[i] < p || adjusted[i] > holm[i]*(1+1e-9) || levels[i] < 0.95 {
				t.Fatalf("%v of %v became %v at level %v, by Holm %v", p, ps, adjusted[i], levels[i], holm[i])
			}
			for j, q := range ps {
				if q < p && adjusted[j] > adjusted[i] {
					t.Fatalf("%v of %v became %v, and %v became %v", p, ps, adjusted[i], q, adjusted[j])
				}
			}
			found, holmFound = found+one(adjusted[i] <= 0.05), holmFound+one(holm[i] <= 0.05)
			if i >= len(older) {
				continue
			}
			c := Welch(older[i], newer[i])
			if ends := c.Interval(levels[i]); ends.Contains(0) == (adjusted[i] <= 0.05) {
				t.Fatalf("%v of %v became %v, and its interval at %v is %v", p, ps, adjusted[i], levels[i], ends)
			}
		}
	}
	if found <= holmFound {
		t.Errorf("%d differences are found, %d by Holm's method", found, holmFound)
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// By hand: equal values are one test, and unrelated ones two; a test that cannot reach the
// p-value does not count.
func TestAdjustByHand(t *testing.T) {
	older, newer := []float64{1, 1.01, 1.02, 1.03, 1.01}, []float64{1.03, 1.02, 1.04, 1.05, 1.03}
	c := Welch(older, newer)
	same := Test{P: c.P, Older: older, Newer: newer}
	first, levels := Adjust([]Test{same, same, same}, 0.05)
	if !near(first[0], c.P, 1e-5*c.P) || !near(levels[0], 0.95, 1e-6) {
		t.Errorf("three times the same test: %v became %v at level %v", c.P, first[0], levels[0])
	}
	// Orthogonal within each side, so uncorrelated.
	other := Test{P: c.P, Older: []float64{1, 2, 1, 1, 2}, Newer: []float64{1, 1, 1, 1, 1}}
	other.Older, other.Newer = orthogonal(older), orthogonal(newer)
	if got, _ := Adjust([]Test{same, other}, 0.05); !near(got[0], 2*c.P, 1e-9) {
		t.Errorf("two unrelated tests: %v became %v, want twice as much", c.P, got[0])
	}
	coarse := []Test{{P: 0.03}, {P: 1, Least: 0.1}, {P: 0.6, Least: 0.025}}
	got, levels := Adjust(coarse, 0.05)
	for i, want := range []float64{0.06, 1, 1} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("a coarse test: %v became %v, want %v", coarse[i].P, got[i], want)
		}
	}
	if !near(levels[0], 0.975, 1e-9) {
		t.Errorf("level %v, want 0.975", levels[0])
	}
	if got, _ := Adjust([]Test{{P: 0.03}, {P: 1, Least: 0.1}}, 0.05); got[0] != 0.03 {
		t.Errorf("the only test that can be below 0.05: 0.03 became %v", got[0])
	}
}

// orthogonal returns values whose logarithms are not correlated with the logarithms of x.
func orthogonal(x []float64) []float64 {
	n := float64(len(x))
	center, middle := math.Log(MeanOfRuns(x)), (n-1)/2
	var xx, xy float64
	for i, v := range x {
		d := math.Log(v) - center
		xx, xy = xx+d*d, xy+d*(float64(i)-middle)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Exp(0.01 * (float64(i) - middle - xy/xx*(math.Log(v)-center)))
	}
	return y
}

// Random numbers give the probability P(|Z| > h or |Z'| > h) of two normal values with
// correlation r. The bound of two tests is that probability, but for the terms that it leaves out.
func TestBoundOfTwo(t *testing.T) {
	const n = 400_000
	rng := rand.New(rand.NewPCG(7, 8))
	for _, r := range []float64{0.3, 0.8, 0.98} {
		for _, p := range []float64{0.01, 0.05, 0.3} {
			h := math.Sqrt2 * math.Erfinv(1-p)
			hits := 0
			for range n {
				z := rng.NormFloat64()
				w := r*z + math.Sqrt(1-r*r)*rng.NormFloat64()
				hits += one(math.Abs(z) > h || math.Abs(w) > h)
			}
			b := bound{{0, math.Sqrt((1 - r) / (1 + r))}, {0, 1}}
			share := float64(hits) / n
			if got := b.at(p); got < share-4*math.Sqrt(share/n) || got > share+4*math.Sqrt(share/n)+p*p/2 {
				t.Errorf("r = %v, p = %v: bound %v, seen %v", r, p, got, share)
			}
		}
	}
}

// By hand, and by the closed test of all sets, which Hommel's method abbreviates.
func TestHommel(t *testing.T) {
	for _, tt := range []struct{ p, want []float64 }{
		{[]float64{0.02, 0.5, 0.02}, []float64{0.04, 0.5, 0.04}}, // by Holm 0.06
		{[]float64{0.01, 0.02, 0.022, 0.03, 0.04}, []float64{0.04, 0.04, 0.04, 0.04, 0.04}},
		{[]float64{0.04, 0.9}, []float64{0.08, 0.9}},
		{[]float64{0.04}, []float64{0.04}},
		{[]float64{0.012, math.NaN(), 0.03}, []float64{0.024, math.NaN(), 0.03}},
	} {
		got, levels := Adjust(plain(tt.p), 0.05)
		for i, want := range tt.want {
			if !near(got[i], want, 1e-12) && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
				t.Errorf("%v became %v, want %v", tt.p, got, tt.want)
			}
			if !math.IsNaN(want) && (tt.p[i] <= 1-levels[i]) != (want <= 0.05) {
				t.Errorf("%v is judged at the level %v, but its adjusted p-value is %v", tt.p[i], levels[i], want)
			}
		}
	}
	rng := rand.New(rand.NewPCG(39, 5))
	for range 200 {
		p := make([]float64, 1+rng.IntN(6))
		for i := range p {
			p[i] = math.Pow(rng.Float64(), 3)
		}
		got, _ := Adjust(plain(p), 0.05)
		holm := Holm(p)
		for i, want := range closedSimes(p) {
			if !near(got[i], want, 1e-12) || got[i] > holm[i]+1e-12 {
				t.Fatalf("%v became %v, the closed test gives %v at %d, and Holm %v", p, got, want, i, holm)
			}
		}
	}
}

// closedSimes returns the largest of the p-values of Simes' test of all sets with each test.
func closedSimes(p []float64) []float64 {
	adjusted := slices.Clone(p)
	for set := 1; set < 1<<len(p); set++ {
		var in []float64
		for i, v := range p {
			if set>>i&1 == 1 {
				in = append(in, v)
			}
		}
		slices.Sort(in)
		simes := math.Inf(1)
		for i, v := range in {
			simes = math.Min(simes, v*float64(len(in))/float64(i+1))
		}
		for i := range p {
			if set>>i&1 == 1 {
				adjusted[i] = math.Max(adjusted[i], simes)
			}
		}
	}
	return adjusted
}
