package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
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
		{"one", []float64{3}, []float64{2}, 1.5, "1 value; a rate needs 30", true},
		{"few of clockwork", ones[:200], ones[:200], 1, "all 200 values are the same", false},
		{"nothing came, very few", make([]float64, 40), x[:40], 0, "all 40 values are the same", false},
		{"nothing came, few", make([]float64, 200), x[:200], 0, "all 200 values are the same", false},
		{"not as many", x, x[1:], math.NaN(), "2000 amounts but 1999 durations", false},
		{"no time", ones, make([]float64, 2000), math.NaN(), "no time passed", false},
		{"NaN", []float64{1, math.NaN()}, []float64{1, 1}, math.NaN(), "value 1 is NaN", false},
		{"back in time", []float64{1, 1}, []float64{1, -1}, math.NaN(), "value 1 is -1", false},
		{"clockwork", ones, ones, 1, "all 2,000 values are the same", false},
		{"nothing came", make([]float64, 2000), x, 0, "all 2,000 values are the same", false},
		{"too large", []float64{1e308, 1e308, 1}, []float64{1, 1, 1}, math.NaN(), "value 0 is 1e+308", false},
		{"few", x[:29], ones[:29], average(x[:29]), "29 values; a rate needs 30", true},
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

// In short runs a rate of equal slices is a mean. Its interval is the wider of two: the interval of the
// mean, times a factor, and the interval from the slowest cosine waves.
func TestShortRate(t *testing.T) {
	for _, tt := range []struct {
		n        int
		factor   float64
		waves    int
		quantile float64 // 0.975 of Student's t with so many degrees of freedom, from a table
	}{
		{30, 1.2, 4, 2.776445},
		{60, 1.2, 4, 2.776445},
		{100, 1.2, 4, 2.776445},
		{300, 1.2, 4, 2.776445},
		{500, 1.2, 6, 2.446912},
		{999, 1.2, 13, 2.160369},
		{1000, 1.1, 13, 2.160369},
		{1999, 1.1, 16, 2.119905},
	} {
		byMean, byWaves := 0, 0
		for seed := range 20 / uint64(testenv.Stride(4)) {
			for _, dependence := range []float64{0, 0.5} {
				amounts := logAR(seed, tt.n, dependence, 0.5)
				durations := make([]float64, len(amounts))
				for i := range durations {
					durations[i] = 0.25
				}
				r, m := Rate(amounts, durations), NewSeries(amounts).anyMean(true, false)
				if m.NA.Missing() {
					continue
				}
				if r.NA.Missing() || !near(r.Value/m.Value, 4, 1e-9) {
					t.Fatalf("%d values: rate %v (%v) of slices with mean %v, want 4 times that", tt.n, r.Value, r.NA, m.Value)
				}
				mean := tt.factor * math.Log(m.Interval(0.95).High/m.Value)
				energy := 0.0
				for j := 1; j <= tt.waves; j++ {
					amplitude := 0.0
					for i, a := range amounts {
						amplitude += (a/m.Value - 1) * math.Cos(math.Pi*float64(j)*(float64(i)+0.5)/float64(tt.n))
					}
					energy += amplitude * amplitude * 2 / float64(tt.n) / float64(tt.waves)
				}
				slow := (1 + 2/math.Sqrt(float64(tt.n))) * tt.quantile * math.Sqrt(energy/float64(tt.n))
				if mean > slow {
					byMean++
				} else {
					byWaves++
				}
				got, want := r.Interval(0.95), math.Max(mean, slow)
				for _, end := range []float64{math.Log(got.High / r.Value), math.Log(r.Value / got.Low)} {
					if !near(end/want, 1, 1e-5) {
						t.Errorf("%d values, dependence %v: the rate's end is %v away, want %v (mean %v, waves %v)", tt.n, dependence, end, want, mean, slow)
					}
				}
			}
		}
		if byMean == 0 || byWaves == 0 && tt.waves <= 6 {
			t.Errorf("%d values: %d intervals are the mean's, %d the waves'; want some of both", tt.n, byMean, byWaves)
		}
	}
}

// Amounts that vary by themselves hide how much the durations depend on each other. The
// variance of two parts counts it: the variance of the mean of 2000 values of an autoregression with
// variance v and φ = 0.9 is 19·v/2000; with independent values, v/2000.
func TestSplitVariance(t *testing.T) {
	const n = 2000
	var ratio, whole float64
	for seed := range uint64(20) {
		slow, noise := logAR(seed, n, 0.9, 0.1), logAR(100+seed, n, 0, 0.1)
		residuals, durations := make([]float64, n), make([]float64, n)
		for i := range n {
			residuals[i] = math.Log(noise[i]) - math.Log(slow[i])
			durations[i] = 5 + 3*math.Log(slow[i])
		}
		const want = (19 + 1) * 0.1 * 0.1 / n
		ratio += splitVariance(residuals, durations) / want / 20
		whole += averageVariance(residuals) / want / 20
	}
	if !near(ratio, 1, 0.15) || whole > 0.5 {
		t.Errorf("%v times the variance, and %v times from one autoregression; want 1, and less than half", ratio, whole)
	}
}

func TestSplitVarianceWithoutParts(t *testing.T) {
	x := logAR(1, 100, 0.5, 0.5)
	equal := make([]float64, len(x))
	for name, parts := range map[string][2][]float64{"equal durations": {x, equal}, "no residuals": {equal, x}, "residuals from durations alone": {rising(100), rising(100)}} {
		if v := splitVariance(parts[0], parts[1]); v != 0 {
			t.Errorf("%s: %v, want 0", name, v)
		}
	}
}

// Durations that depend on each other widen the interval of a short rate although the amounts
// hide it. An amount in proportion to its duration does not.
func TestShortRateOfDependentDurations(t *testing.T) {
	const n, runs = 500, 20
	var dependent, shuffled, proportional float64 // average widths on the logarithmic scale
	width := func(amounts, durations []float64) float64 {
		r := Rate(amounts, durations)
		i := r.Interval(0.95)
		return math.Log(i.High/i.Low) / runs
	}
	for seed := range uint64(runs) {
		durations, noise := logAR(seed, n, 0.8, 0.5), logAR(100+seed, n, 0, 0.5)
		amounts, mixed := make([]float64, n), slices.Clone(durations)
		for i, d := range durations {
			amounts[i] = d * math.Pow(noise[i], 0.01)
		}
		rand.New(rand.NewPCG(seed, 1)).Shuffle(n, func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		dependent += width(noise, durations)
		shuffled += width(noise, mixed)
		proportional += width(amounts, durations)
	}
	if dependent < 1.5*shuffled || proportional > shuffled/20 {
		t.Errorf("width %v, %v if shuffled, %v if in proportion", dependent, shuffled, proportional)
	}
}

// The values are from tables of Student's distribution.
func TestSameTail(t *testing.T) {
	for _, tt := range []struct{ t, ofT, df, least, want float64 }{
		{1.959964, math.Inf(1), 4, 0, 2.776445},
		{2.228139, 10, 16, 1, 2.119905},
		{2.776445, 4, 4, 2.7, 2.776445},
		{3.290527, math.Inf(1), 4, 0, 8.610302},
		{1.959964, math.Inf(1), 4, 2.8, 2.8},
		{0, 10, 4, 0, 0},
		{0, 10, 4, 1, 1},
		{1e200, 10, 4, 0, 1e200},
	} {
		if got := sameTail(tt.t, tt.ofT, tt.df, tt.least); !near(got, tt.want, 1e-5*(1+tt.want)) {
			t.Errorf("sameTail(%v, %v, %v, %v) = %v, want %v", tt.t, tt.ofT, tt.df, tt.least, got, tt.want)
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
