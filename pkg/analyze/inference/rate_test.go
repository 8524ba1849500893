package inference

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// In slices of equal length a rate is a mean, and so is its interval.
func TestRateOfEqualSlices(t *testing.T) {
	amounts := logAR(1, 4000, 0.5, 0.5)
	durations := make([]float64, len(amounts))
	for i := range durations {
		durations[i] = 0.25
	}
	r, m := Rate(amounts, durations), NewSeries(amounts).Mean()
	if !near(r.Value/m.Value, 4, 1e-9) {
		t.Errorf("rate %v of slices with mean %v, want 4 times that", r.Value, m.Value)
	}
	got, want := r.Interval(0.95), m.Interval(0.95)
	if !near(got.Low/want.Low, 4, 1e-6) || !near(got.High/want.High, 4, 1e-6) {
		t.Errorf("interval %v, want 4 times %v", got, want)
	}
	if !near(r.EffectiveN/m.EffectiveN, 1, 1e-9) {
		t.Errorf("effective number %v, want %v", r.EffectiveN, m.EffectiveN)
	}
}

// Tokens that come in proportion to the time they take make a rate that is
// known better than either.
func TestRateOfProportionalAmounts(t *testing.T) {
	durations := logAR(1, 4000, 0.5, 0.5)
	rng := rand.New(rand.NewPCG(7, 7))
	amounts := make([]float64, len(durations))
	for i, d := range durations {
		amounts[i] = 100 * d * math.Exp(0.01*rng.NormFloat64())
	}
	r := Rate(amounts, durations)
	i := r.Interval(0.95)
	if !near(r.Value, 100, 0.2) || !i.Contains(r.Value) || i.High-i.Low > 0.3 {
		t.Errorf("rate %v in %v, want 100 within 0.1", r.Value, i)
	}
}

func TestRateNotAvailable(t *testing.T) {
	ones := make([]float64, 2000)
	for i := range ones {
		ones[i] = 1
	}
	x := logAR(1, 2000, 0, 0.5)
	for _, tt := range []struct {
		name               string
		amounts, durations []float64
		value              float64
		reason             string
		needs              bool
	}{
		{"empty", nil, nil, math.NaN(), "no time passed", false},
		{"one", []float64{3}, []float64{2}, 1.5, "1 values, a rate wants 30", true},
		{"few of clockwork", ones[:200], ones[:200], 1, "all 200 values are the same", false},
		{"nothing came, very few", make([]float64, 40), x[:40], 0, "all 40 values are the same", false},
		{"nothing came, few", make([]float64, 200), x[:200], 0, "all 200 values are the same", false},
		{"not as many", x, x[1:], math.NaN(), "2000 amounts but 1999 durations", false},
		{"no time", ones, make([]float64, 2000), math.NaN(), "no time passed", false},
		{"NaN", []float64{1, math.NaN()}, []float64{1, 1}, math.NaN(), "value 1 is NaN", false},
		{"back in time", []float64{1, 1}, []float64{1, -1}, math.NaN(), "value 1 is -1", false},
		{"clockwork", ones, ones, 1, "all 2000 values are the same", false},
		{"nothing came", make([]float64, 2000), x, 0, "all 2000 values are the same", false},
		{"too large", []float64{1e308, 1e308, 1}, []float64{1, 1, 1}, math.NaN(), "value 0 is 1e+308", false},
		{"few", x[:29], ones[:29], average(x[:29]), "29 values, a rate wants 30", true},
		{"a rising amount", rising(200), ones[:200], 100.5, "neighbouring values depend on each other", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Rate(tt.amounts, tt.durations)
			if e.Value != tt.value && !(math.IsNaN(e.Value) && math.IsNaN(tt.value)) && !near(e.Value, tt.value, 1e-9) {
				t.Errorf("value %v, want %v", e.Value, tt.value)
			}
			if !strings.Contains(e.NA.Reason, tt.reason) || (e.NA.Needs >= 30) != tt.needs {
				t.Errorf("%v because %q, want %q", e.NA, e.NA.Reason, tt.reason)
			}
			if i := e.Interval(0.95); i.Contains(e.Value) {
				t.Errorf("interval %v, want none", i)
			}
		})
	}
}

// In short runs a rate of equal slices is a mean. Its interval is wider on the logarithmic
// scale: twice as wide up to 99 values, a fifth wider from 100 on.
func TestShortRate(t *testing.T) {
	for _, tt := range []struct {
		n      int
		factor float64
	}{{30, 2}, {60, 2}, {99, 2}, {100, 1.2}, {300, 1.2}} {
		for _, dependence := range []float64{0, 0.5} {
			amounts := logAR(3, tt.n, dependence, 0.5)
			durations := make([]float64, len(amounts))
			for i := range durations {
				durations[i] = 0.25
			}
			r, m := Rate(amounts, durations), NewSeries(amounts).Mean()
			if r.NA.Missing() || !near(r.Value/m.Value, 4, 1e-9) {
				t.Errorf("%d values: rate %v (%v) of slices with mean %v, want 4 times that", tt.n, r.Value, r.NA, m.Value)
			}
			got, want := r.Interval(0.95), m.Interval(0.95)
			for _, ends := range [][2]float64{{got.Low, want.Low}, {got.High, want.High}} {
				if rate, mean := math.Log(ends[0]/r.Value), math.Log(ends[1]/m.Value); !near(rate/mean, tt.factor, 1e-6) {
					t.Errorf("%d values, dependence %v: the rate's end is %v away, the mean's %v; want %v times as far", tt.n, dependence, rate, mean, tt.factor)
				}
			}
		}
	}
}

func rising(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

func average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
