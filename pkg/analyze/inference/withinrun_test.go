package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// A process makes the latencies of a steady run.
type process struct {
	name string
	make func(rng *rand.Rand, n int) []float64
}

// each makes values that are independent.
func each(value func(rng *rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = value(rng)
		}
		return x
	}
}

// following makes an autoregression of logarithms.
func following(phi, deviation float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x, z := make([]float64, n), rng.NormFloat64()
		for i := range x {
			x[i] = math.Exp(deviation * z)
			z = phi*z + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		return x
	}
}

func processes() []process {
	return []process{
		{"independent", each(func(rng *rand.Rand) float64 { return math.Exp(0.15 * rng.NormFloat64()) })},
		{"on a grid", each(func(rng *rand.Rand) float64 { return math.Round(10 * math.Exp(0.15*rng.NormFloat64())) })},
		{"one in ten slow", each(func(rng *rand.Rand) float64 {
			return math.Exp(0.1*rng.NormFloat64()) * [...]float64{3, 1}[min(1, rng.IntN(10))]
		})},
		{"heavy tail", each(func(rng *rand.Rand) float64 { return math.Pow(rng.Float64(), -1/1.5) })},
		{"exponential", each(func(rng *rand.Rand) float64 { return rng.ExpFloat64() })},
		{"dependent 0.5", following(0.5, 0.15)},
		{"dependent 0.9", following(0.9, 0.15)},
		{"two states", func(rng *rand.Rand, n int) []float64 {
			x, slow := make([]float64, n), rng.IntN(2)
			for i := range x {
				if rng.IntN(10) == 0 {
					slow = 1 - slow
				}
				x[i] = (1 + 0.3*float64(slow)) * math.Exp(0.05*rng.NormFloat64())
			}
			return x
		}},
	}
}

// Steady runs rarely seem to drift or to start slowly, and a drift and a slow start are found.
func TestSlopeAndStartOfRuns(t *testing.T) {
	t.Parallel()
	replications := 1500 / testenv.Stride(6)
	for i, p := range processes() {
		rng := rand.New(rand.NewPCG(31, uint64(i)))
		for _, n := range []int{60, 200} {
			drifts, starts := 0, 0
			for range replications {
				x := p.make(rng, n)
				if s := SlopeOf(x); s.P <= 0.01 {
					drifts++
				}
				if s := StartOf(x); s.N > 0 {
					starts++
				}
			}
			// About 0.5 %, up to 4 % with two states and 3 % of starts with heavy tails: see the docs.
			few := 0.01
			if p.name == "two states" {
				few = 0.06
			}
			if most := few*float64(replications) + 3*math.Sqrt(few*float64(replications)); float64(drifts) > most {
				t.Errorf("%s, %d values: %d of %d steady runs drift", p.name, n, drifts, replications)
			}
			if most := 0.03*float64(replications) + 3*math.Sqrt(0.03*float64(replications)); float64(starts) > most {
				t.Errorf("%s, %d values: %d of %d steady runs start slowly", p.name, n, starts, replications)
			}
		}
	}
	for i, p := range []process{processes()[2], processes()[3]} { // values far from the others are usual here
		rng := rand.New(rand.NewPCG(34, uint64(i)))
		const runs = 3000
		starts := 0
		for range runs {
			if StartOf(p.make(rng, 30)).N > 0 {
				starts++
			}
		}
		if starts > runs*25/1000 {
			t.Errorf("%s, 30 values: %d of %d steady runs start slowly", p.name, starts, runs)
		}
	}
	rng := rand.New(rand.NewPCG(32, 0))
	for _, tt := range []struct {
		name   string
		n      int
		change func(i, n int) float64
		slope  bool // a drift, else a slow start
	}{
		{"drift of 30 %", 200, func(i, n int) float64 { return 1 + 0.3*float64(i)/float64(n) }, true},
		{"drift of −30 %", 200, func(i, n int) float64 { return 1 - 0.3*float64(i)/float64(n) }, true},
		{"1 of 60 cold", 60, func(i, _ int) float64 { return [...]float64{5, 1}[min(1, i)] }, false},
		{"3 of 60 cold", 60, func(i, _ int) float64 { return [...]float64{5, 1}[min(1, i/3)] }, false},
		{"20 of 1000 cold", 1000, func(i, _ int) float64 { return [...]float64{5, 1}[min(1, i/20)] }, false},
	} {
		found := 0
		const runs = 40
		for range runs {
			x := each(func(rng *rand.Rand) float64 { return math.Exp(0.15 * rng.NormFloat64()) })(rng, tt.n)
			for i := range x {
				x[i] *= tt.change(i, tt.n)
			}
			slope, start := SlopeOf(x), StartOf(x)
			if tt.slope && slope.P <= 0.01 && math.Abs(slope.Change) > 0.1 || !tt.slope && start.N > 0 && start.Factor > 2 {
				found++
			}
		}
		if found < runs*9/10 {
			t.Errorf("%s: found in %d of %d runs", tt.name, found, runs)
		}
	}
}

// By hand: the line through the logarithms of 1.01^i changes by 1.01^(n−1).
func TestSlopeEdges(t *testing.T) {
	t.Parallel()
	line := make([]float64, 100)
	for i := range line {
		line[i] = math.Pow(1.01, float64(i))
	}
	if s := SlopeOf(line); math.Abs(s.Change-(math.Pow(1.01, 99)-1)) > 1e-9 || !(s.P < 1e-6) || s.NA.Missing() {
		t.Errorf("a line: %+v", s)
	}
	if s := SlopeOf(slices.Repeat([]float64{7}, 50)); s.P != 1 || math.Abs(s.Change) > 1e-12 {
		t.Errorf("constants: %+v", s)
	}
	for name, x := range map[string][]float64{
		"too few": line[:29], "none": nil, "not positive": append([]float64{0}, line...), "not a number": append([]float64{math.NaN()}, line...),
	} {
		if s := SlopeOf(x); !s.NA.Missing() || !math.IsNaN(s.P) {
			t.Errorf("%s: %+v, want no p-value", name, s)
		}
		if s := StartOf(x); s.N != 0 {
			t.Errorf("%s: a slow start of %d", name, s.N)
		}
	}
	if s := StartOf(slices.Repeat([]float64{0.1}, 100)); s.N != 0 { // their sums differ by rounding
		t.Errorf("constants: %+v", s)
	}
	if s := StartOf(append([]float64{9}, slices.Repeat([]float64{3}, 99)...)); s.N != 1 || math.Abs(s.Factor-3) > 1e-12 || s.P != 0 {
		t.Errorf("one slow value before constants: %+v", s)
	}
}

// Percentiles that are certified with the effective number are rarely below the true ones, and as often
// as for independent values if the values are dependent.
func TestEffectiveCertifies(t *testing.T) {
	t.Parallel()
	replications := 600 / testenv.Stride(4)
	for i, p := range []process{processes()[0], processes()[5], processes()[6]} {
		rng := rand.New(rand.NewPCG(33, uint64(i)))
		many := make([]float64, 0, 400_000)
		for len(many) < cap(many) {
			many = append(many, p.make(rng, 2000)...)
		}
		slices.Sort(many)
		for _, q := range []float64{0.5, 0.95} {
			truth := many[int(q*float64(len(many)))]
			given, misses := 0, 0
			for range replications {
				x := p.make(rng, 662)
				effective := NewSeries(x).Effective()
				if p.name == "independent" && !(effective > 300 && effective <= 662) {
					t.Errorf("662 independent values are worth %.0f", effective)
				}
				b := stat.DependentCertifiedRank(len(x), effective, q)
				if b == 0 {
					continue
				}
				given++
				slices.Sort(x)
				if x[len(x)-b] < truth {
					misses++
				}
			}
			if q == 0.5 && given < replications*9/10 {
				t.Errorf("%s: p50 certified in %d of %d runs", p.name, given, replications)
			}
			if most := 0.01*float64(given) + 3*math.Sqrt(0.01*float64(given)) + 1; float64(misses) > most {
				t.Errorf("%s: %d of %d certified p%v are below the true one", p.name, misses, given, 100*q)
			}
		}
	}
}

func TestEffectiveEdges(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		x    []float64
		want float64
	}{
		"one": {[]float64{3}, 1}, "two": {[]float64{3, 4}, 2}, "constants": {slices.Repeat([]float64{3}, 90), 90},
		"in turns": {slices.Repeat([]float64{3, 4}, 90), 180},
	} {
		s := NewSeries(tt.x)
		if got := s.Effective(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if got := s.EffectivePart(7); got != 7 {
			t.Errorf("%s: 7 of them are worth %v", name, got)
		}
	}
	for name, x := range map[string][]float64{"none": nil, "not a number": {1, math.NaN(), 2}} {
		if got := NewSeries(x).Effective(); !math.IsNaN(got) {
			t.Errorf("%s: %v, want NaN", name, got)
		}
	}
	slow := make([]float64, 500)
	for i := range slow {
		slow[i] = float64(i / 100 * 7 % 5) // 0, 2, 4, 1, 3
	}
	s := NewSeries(slow)
	if got := s.Effective(); got > 10 {
		t.Errorf("five steps are worth %v", got)
	}
	if got := s.EffectivePart(50); got > 2 {
		t.Errorf("50 values of five steps are worth %v", got)
	}
	for i := range slow {
		slow[i] = float64(i)
	}
	if got := NewSeries(slow).EffectivePart(50); got != 50 {
		t.Errorf("50 values of a rise are worth %v", got)
	}
}
