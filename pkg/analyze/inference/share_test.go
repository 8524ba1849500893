package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// coins are n throws, of which about the share p is met.
func coins(seed uint64, n int, p float64) []bool {
	random := rand.New(rand.NewPCG(seed, 0))
	met := make([]bool, n)
	for i := range met {
		met[i] = random.Float64() < p
	}
	return met
}

func TestShare(t *testing.T) {
	many := coins(1, 4000, 0.9)
	e := Share(many)
	ends := e.Interval(0.95)
	if e.NA.Missing() || e.N != 4000 || math.Abs(e.Value-0.9) > 0.02 {
		t.Fatalf("%+v", e)
	}
	// Independent throws: ±t·√(p(1−p)/n), about ±1 %.
	if want := 2.12 * math.Sqrt(0.9*0.1/4000); math.Abs((ends.High-ends.Low)/(2*want)-1) > 0.5 || !ends.Contains(e.Value) {
		t.Errorf("interval %v of %v, want about ±%v", ends, e.Value, want)
	}
	// The share that is not met is the rest.
	rest := slices.Clone(many)
	for i := range rest {
		rest[i] = !rest[i]
	}
	r := Share(rest)
	if other := r.Interval(0.95); math.Abs(other.Low-(1-ends.High)) > 1e-12 || math.Abs(other.High-(1-ends.Low)) > 1e-12 {
		t.Errorf("interval %v, of the rest %v", ends, other)
	}
	if at := e.Interval(1e-300); math.Abs(at.Low-e.Value) > 1e-12 || math.Abs(at.High-e.Value) > 1e-12 {
		t.Errorf("the interval of next to no confidence is %v, the value %v", at, e.Value)
	}
	// The same requests, each repeated a hundred times: worth a hundredth.
	var clumps []bool
	for _, m := range many {
		for range 100 {
			clumps = append(clumps, m)
		}
	}
	if c := Share(clumps); !(c.EffectiveN < 8000 && c.EffectiveN > 2000) || c.Value != e.Value {
		t.Errorf("%d requests, a hundred alike each, are worth %v", c.N, c.EffectiveN)
	}
}

// A share without an interval has a reason.
func TestShareMissing(t *testing.T) {
	sorted := coins(2, 4000, 0.9)
	slices.SortFunc(sorted, func(a, b bool) int { return map[bool]int{true: 1}[a] - map[bool]int{true: 1}[b] })
	for _, tt := range []struct {
		name   string
		met    []bool
		value  float64 // NaN: not looked at
		reason string
		needs  int
	}{
		{"nothing", nil, math.NaN(), "no requests", 0},
		{"all", coins(1, 100, 2), 1, "all 100 requests meet it, which shows no spread", 0},
		{"none", coins(1, 100, -1), 0, "none of 100 requests meets it, which shows no spread", 0},
		{"few", append(coins(1, 40, 2), false), 40. / 41, "41 requests; at least 492 are needed", 500},
		{"too rare for so many", coins(3, 2000, 0.995), math.NaN(), "2000 requests; at least ", -1},
		{"met late only", sorted, math.NaN(), "4000 requests depend on each other and tell as much as ", -1},
	} {
		e := Share(tt.met)
		if !math.IsNaN(tt.value) && e.Value != tt.value || !strings.HasPrefix(e.NA.Reason, tt.reason) || tt.needs >= 0 && e.NA.Needs != tt.needs || e.N != len(tt.met) {
			t.Errorf("%s: %+v, want %v, %q, %d", tt.name, e, tt.value, tt.reason, tt.needs)
		}
		if i := e.Interval(0.95); !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
			t.Errorf("%s: interval %v", tt.name, i)
		}
	}
}
