package inference

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// If the dependence is known to be none, the interval of a mean is Student's.
func TestSmallMeanIndependent(t *testing.T) {
	x := logAR(1, 40, 0, 0.2)
	s := NewSeries(x)
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / 40
	}
	for _, v := range x {
		squares += square(v - mean)
	}
	var none dependenceWeights
	none[phiCount/2] = 1
	p := s.smallMean(mean, 1, false, false).pivot(&none)
	half := StudentQuantile(0.95, 39) * math.Sqrt(squares/39/40)
	if i := p.at(0.95); !near(i.Low, mean-half, 1e-9) || !near(i.High, mean+half, 1e-9) {
		t.Errorf("interval %v, want %v ± %v", i, mean, half)
	}
}

// If the dependence is known to be none, the ends of a quantile's interval lie between
// the order statistics of Conover's table: of 60 values, the 22nd and the 39th enclose
// the median in 96.4 % of all series, the 23rd and the 38th in 93.3 %.
func TestSmallQuantileIndependent(t *testing.T) {
	x := make([]float64, 60)
	for i := range x {
		x[i] = float64(i + 1)
	}
	s := NewSeries(x)
	value := s.Quantile(0.5).Value
	var none dependenceWeights
	none[phiCount/2] = 1
	small := s.smallQuantile(0.5, value, 1)
	p := small.pivot(&none)
	i := p.at(0.95)
	if !(i.Low > 22 && i.Low < 23 && i.High > 38 && i.High < 39) {
		t.Errorf("interval %v, want ends in (22, 23) and (38, 39)", i)
	}
	for _, tt := range []struct {
		level, low, high float64
	}{{1 - 2*binomialBelow(60, 21), 22, 39}, {1 - 2*binomialBelow(60, 22), 23, 38}} {
		if i := p.at(tt.level); !near(i.Low, tt.low, 1e-6) || !near(i.High, tt.high, 1e-6) {
			t.Errorf("at %v: %v, want %v and %v", tt.level, i, tt.low, tt.high)
		}
	}
}

// binomialBelow returns P(Binomial(n, ½) ≤ k).
func binomialBelow(n, k int) float64 {
	sum, term := 0.0, math.Pow(0.5, float64(n))
	for i := 0; i <= k; i++ {
		sum += term
		term *= float64(n-i) / float64(i+1)
	}
	return sum
}

// Intervals of a short series hold their value, grow with the level, and are wider if
// neighbours depend on each other.
func TestSmallIntervals(t *testing.T) {
	for name, of := range map[string]func(*Series) Estimate{
		"mean": (*Series).Mean,
		"p50":  func(s *Series) Estimate { return s.Quantile(0.5) },
		"p90":  func(s *Series) Estimate { return s.Quantile(0.9) },
	} {
		width := map[float64]float64{}
		for _, rho := range []float64{0, 0.5} {
			e := of(NewSeries(logAR(7, 120, rho, 0.2)))
			if e.NA.Missing() {
				t.Fatalf("%s: %s", name, e.NA.Reason)
			}
			before := Interval{e.Value, e.Value}
			for _, level := range []float64{0.5, 0.9, 0.95, 0.99} {
				i := e.Interval(level)
				if !(i.Low < before.Low && i.High > before.High) {
					t.Errorf("%s: at %v %v, not around %v", name, level, i, before)
				}
				before = i
			}
			width[rho] = before.High - before.Low
		}
		if width[0.5] < 1.2*width[0] {
			t.Errorf("%s: width %v of dependent values, %v of independent ones", name, width[0.5], width[0])
		}
	}
}

// P is at most 1 − level exactly when the interval at that level leaves out 0, also
// between short runs, and the sides can change places.
func TestSmallChange(t *testing.T) {
	for seed := uint64(0); seed < 10; seed += uint64(testenv.Stride(2)) {
		older, newer := logAR(seed, 60, 0.2, 0.15), logAR(seed+100, 45, 0.2, 0.15)
		for i := range newer {
			newer[i] *= 1 + 0.02*float64(seed)
		}
		for name, of := range map[string]func(*Series) Estimate{
			"mean": (*Series).Mean, "p50": func(s *Series) Estimate { return s.Quantile(0.5) },
		} {
			c, back := Change(of(NewSeries(older)), of(NewSeries(newer))), Change(of(NewSeries(newer)), of(NewSeries(older)))
			if c.NA.Missing() {
				t.Fatalf("%s: %s", name, c.NA.Reason)
			}
			for _, level := range []float64{0.5, 0.9, 0.95, 0.99, c.confidence(1e-6), c.confidence(-1e-6)} {
				if !(level > 0 && level < 1) {
					continue
				}
				if got, want := c.Interval(level).Contains(0), c.P > 1-level; got != want {
					t.Errorf("%s: P = %v but the interval at %v is %v", name, c.P, level, c.Interval(level))
				}
			}
			if i, j := c.Interval(0.95), back.Interval(0.95); !near(c.P, back.P, 1e-8) || !near((1+i.Low)*(1+j.High), 1, 1e-8) {
				t.Errorf("%s: P %v and %v, the other way %v and %v", name, c.P, i, back.P, j)
			}
		}
	}
}

// A few gaps of each request look like independent values, and are none.
func TestGapsHaveNoSmallIntervals(t *testing.T) {
	x := logAR(1, 150, 0, 0.2)
	if e := GapsOf(slice(x)).Mean(); e.NA.Needs < 200 || !e.NA.Missing() {
		t.Errorf("interval %v, %v; want none", e.Interval(0.95), e.NA)
	}
	if e := NewSeries(x).Mean(); e.NA.Missing() {
		t.Errorf("the same values, one of each request: %s", e.NA.Reason)
	}
}

// The function's root is found at the ends and for functions with a step.
func TestFalling(t *testing.T) {
	for _, root := range []float64{1, 1.5, 2, 3} {
		for name, f := range map[string]func(float64) float64{
			"line": func(x float64) float64 { return root - x },
			"step": func(x float64) float64 {
				if x < root {
					return 1
				}
				return -math.Inf(1)
			},
			"curve": func(x float64) float64 { return math.Exp(-20*x) - math.Exp(-20*root) },
		} {
			if got := fallingRoot(f, 1, 3); !near(got, root, 1e-8) && (name != "step" || root != 1) {
				t.Errorf("%s: %v, want %v", name, got, root)
			}
		}
	}
}

// Noise over a slow process hides how long values depend on each other, and intervals allow for it: between
// equal runs, few intervals leave out 0. Without noise in the model, one of eight does.
func TestNoiseOverSlowProcess(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	pairs := 1000 / testenv.Stride(8)
	given, wrong := 0, 0
	for i, tt := range []struct {
		n           int
		slow, noise float64
	}{{60, 0.10, 0.05}, {120, 0.10, 0.05}, {60, 0.10, 0.065}} {
		rng := rand.New(rand.NewPCG(39, uint64(i)))
		run := func() *Series {
			x := following(0.8, tt.slow)(rng, tt.n)
			for i := range x {
				x[i] *= math.Exp(tt.noise * rng.NormFloat64())
			}
			return NewSeries(x)
		}
		for range pairs {
			older, newer := run(), run()
			for _, c := range [...]Comparison{Change(older.Mean(), newer.Mean()), Change(older.Quantile(0.5), newer.Quantile(0.5))} {
				if ends := c.Interval(0.95); !c.NA.Missing() {
					given++
					wrong += one(!ends.Contains(0))
				}
			}
		}
	}
	if most := 0.07*float64(given) + 2*math.Sqrt(0.07*float64(given)); given < 4*pairs || float64(wrong) > most {
		t.Errorf("of %d intervals %d are given and %d wrong, at most %.0f are right", 6*pairs, given, wrong, most)
	}
}

// A series whose neighbours do not seem correlated has the interval of an autoregression without noise.
func TestNoNoiseWithoutDependence(t *testing.T) {
	for seed := uint64(0); seed < 20; seed++ {
		f := robustFit(logAR(seed, 60, 0, 0.2))
		w := f.weights(true)
		noise := 0.0
		for _, v := range w[phiCount:] {
			noise += v
		}
		if seems := f.neighbours*math.Sqrt(60) > seemingDependence; seems != (noise > 0) {
			t.Errorf("seed %d: neighbours are correlated by %.2f, and noise has the weight %v", seed, f.neighbours, noise)
		}
	}
}
