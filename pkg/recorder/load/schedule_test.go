package load

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// first returns the first n instants of a level's schedule.
func first(l Open, n int) []time.Duration {
	s := l.Schedule()
	var dues []time.Duration
	for range n {
		due, ok := s.Next()
		if !ok {
			break
		}
		dues = append(dues, due)
	}
	return dues
}

// gaps returns the gaps between instants in seconds. The first gap begins at 0.
func gaps(dues []time.Duration) []float64 {
	all := make([]float64, len(dues))
	before := time.Duration(0)
	for i, due := range dues {
		all[i] = (due - before).Seconds()
		before = due
	}
	return all
}

func TestConstantRate(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		n    int
		want []time.Duration // the last instants
	}{
		{2, 3, []time.Duration{500 * time.Millisecond, time.Second, 1500 * time.Millisecond}},
		{2000, 2, []time.Duration{500 * time.Microsecond, time.Millisecond}},
		{0.1, 1, []time.Duration{10 * time.Second}},
		// The rounding errors of a gap of 1/3 s do not add up.
		{3, 3_000_000, []time.Duration{1_000_000*time.Second - 333_333_333, 1_000_000 * time.Second}},
	} {
		s := Rate{PerSecond: tt.rate}.Schedule()
		got := make([]time.Duration, len(tt.want))
		for range tt.n {
			copy(got, got[1:])
			got[len(got)-1], _ = s.Next()
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v per second, %d requests: the last are due at %v, want %v", tt.rate, tt.n, got, tt.want)
		}
	}
}

// TestGapDistribution compares gaps with their distribution by the test of Kolmogorov and
// Smirnov at 0.1 %, for several seeds and rates.
func TestGapDistribution(t *testing.T) {
	const n = 20_000
	for _, tt := range []struct {
		level Rate
		cdf   func(x float64) float64 // of a gap, as a multiple of the mean gap
	}{
		{Rate{Arrivals: Poisson}, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{Rate{Arrivals: Gamma}, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{Rate{Arrivals: Gamma, Burstiness: 0.2}, gammaCDF(0.2)}, // at a low rate, see below
		{Rate{Arrivals: Gamma, Burstiness: 0.9}, gammaCDF(0.9)},
		{Rate{Arrivals: Gamma, Burstiness: 2}, gammaCDF(2)},
		{Rate{Arrivals: Gamma, Burstiness: 25}, gammaCDF(25)},
	} {
		for seed := range uint64(6 / testenv.Stride(2)) { // each rate once in make test, else twice
			level := tt.level
			level.Seed, level.PerSecond = seed, []float64{0.5, 7.5, 2000}[seed%3]
			if level.Burstiness == 0.2 {
				level.PerSecond = 1e-4 // at higher rates many gaps correctly round to 0 ns
			}
			scaled := gaps(first(level, n))
			for i := range scaled {
				scaled[i] *= level.PerSecond
			}
			if d, most := ksDistance(scaled, tt.cdf), ksCritical(n); d > most {
				t.Errorf("%#v: the gaps are %.4f from their distribution, at most %.4f is chance", level, d, most)
			}
			if r, most := lag1(scaled), 4/math.Sqrt(n); math.Abs(r) > most {
				t.Errorf("%#v: neighbouring gaps are correlated by %.4f, at most %.4f is chance", level, r, most)
			}
		}
	}
}

// TestWrongGapDistribution checks that ksDistance detects gaps of another distribution.
func TestWrongGapDistribution(t *testing.T) {
	const n = 20_000
	for name, wrong := range map[string]struct {
		level Rate
		cdf   func(float64) float64
	}{
		"gamma for Poisson":  {Rate{PerSecond: 1, Arrivals: Gamma, Burstiness: 0.9}, gammaCDF(1)},
		"another shape":      {Rate{PerSecond: 1, Arrivals: Gamma, Burstiness: 2}, gammaCDF(2.2)},
		"a rate 5 % too low": {Rate{PerSecond: 0.95, Arrivals: Poisson}, gammaCDF(1)},
	} {
		if d, most := ksDistance(gaps(first(wrong.level, n)), wrong.cdf), ksCritical(n); d <= most {
			t.Errorf("%s: not detected: a distance of %.4f, at most %.4f is chance", name, d, most)
		}
	}
}

// TestPoissonCounts checks that the numbers of requests per second have a variance equal to
// their mean, as in a Poisson process.
func TestPoissonCounts(t *testing.T) {
	const rate, seconds = 20, 4000
	for seed := range uint64(4) {
		counts := make([]float64, seconds)
		for _, due := range first(Rate{PerSecond: rate, Arrivals: Poisson, Seed: seed}, rate*seconds*11/10) {
			if s := int(due / time.Second); s < seconds {
				counts[s]++
			}
		}
		mean, squares := 0.0, 0.0
		for _, c := range counts {
			mean += c / seconds
		}
		for _, c := range counts {
			squares += (c - mean) * (c - mean) / (seconds - 1)
		}
		// The standard error of the ratio is about √(2/seconds), and of the mean √(rate/seconds).
		if dispersion := squares / mean; math.Abs(dispersion-1) > 4*math.Sqrt(2.0/seconds) || math.Abs(mean-rate) > 4*math.Sqrt(float64(rate)/seconds) {
			t.Errorf("seed %d: %.2f requests a second with a variance of %.3f of that, want %v and about 1", seed, mean, dispersion, rate)
		}
	}
}

// TestScheduleIsAFunctionOfSeedAndIndex checks that two schedules of a level are equal, that
// another seed changes every gap, and that another rate changes only the time scale.
func TestScheduleIsAFunctionOfSeedAndIndex(t *testing.T) {
	const n = 500
	for _, level := range []Rate{{PerSecond: 10, Arrivals: Poisson}, {PerSecond: 10, Arrivals: Gamma, Burstiness: 0.5}} {
		dues := first(level, n)
		if !slices.Equal(dues, first(level, n)) {
			t.Errorf("%v: two schedules differ", level.Arrivals)
		}
		faster := level
		faster.PerSecond = 20
		for i, due := range first(faster, n) {
			if diff := 2*due - dues[i]; diff < -2 || diff > 2 {
				t.Fatalf("%v, request %d: due at %v, at twice the rate at %v", level.Arrivals, i, dues[i], due)
			}
		}
		other := level
		other.Seed = 1
		same := 0
		for i, gap := range gaps(first(other, n)) {
			if gap == gaps(dues)[i] {
				same++
			}
		}
		if same > 0 {
			t.Errorf("%v: %d of %d gaps are the same with another seed", level.Arrivals, same, n)
		}
	}
}

// TestRampUp checks that the number of requests is the integral of the rate: with a ramp, a
// parabola and then a line.
func TestRampUp(t *testing.T) {
	const rate, ramp = 100.0, 4 * time.Second
	integral := func(at time.Duration) float64 {
		s := at.Seconds()
		if at < ramp {
			return rate * s * s / (2 * ramp.Seconds())
		}
		return rate * (s - ramp.Seconds()/2)
	}
	for i, due := range first(Rate{PerSecond: rate, RampUp: ramp}, 1000) {
		if got := integral(due); math.Abs(got-float64(i+1)) > 1e-6 {
			t.Fatalf("request %d is due at %v, when %.9f should have been", i+1, due, got)
		}
	}
	// Measured by the integral of its rate, the process is a Poisson process of rate 1.
	dues := first(Rate{PerSecond: rate, Arrivals: Poisson, RampUp: ramp, Seed: 3}, 20_000)
	units := make([]float64, len(dues))
	before := 0.0
	for i, due := range dues {
		units[i] = integral(due) - before
		before = integral(due)
	}
	if d, most := ksDistance(units, gammaCDF(1)), ksCritical(len(units)); d > most {
		t.Errorf("the rescaled gaps are %.4f from the exponential distribution, at most %.4f is chance", d, most)
	}
}

// TestScaled checks that the last instant of each block is exact, and that the gaps keep
// their distribution and follow each other like the drawn ones.
func TestScaled(t *testing.T) {
	for _, tt := range []struct {
		level      Rate
		warmup     int
		warmupTime time.Duration
		n          int
		first      int           // requests of the first block
		begin, end time.Duration // of the second block
	}{
		{Rate{PerSecond: 20, Arrivals: Poisson}, 0, 0, 120, 0, 0, 6 * time.Second},
		{Rate{PerSecond: 12, Arrivals: Poisson, Seed: 9}, 0, 0, 1, 0, 0, 83_333_333},
		{Rate{PerSecond: 1000, Arrivals: Gamma, Burstiness: 0.1}, 0, 0, 20_000, 0, 0, 20 * time.Second},
		{Rate{PerSecond: 1000, Arrivals: Gamma, Burstiness: 5, Seed: 2}, 500, 0, 2000, 500, 500 * time.Millisecond, 2500 * time.Millisecond},
		{Rate{PerSecond: 10, Arrivals: Poisson}, 7, time.Second, 30, 10, time.Second, 4 * time.Second},
		{Rate{PerSecond: 10, Arrivals: Poisson}, 30, time.Second, 30, 30, 3 * time.Second, 6 * time.Second},
		{Rate{PerSecond: 10, Arrivals: Poisson, RampUp: 4 * time.Second}, 0, time.Second, 30, 30, 5 * time.Second, 8 * time.Second},
	} {
		dues := first(tt.level.Scaled(tt.warmup, tt.warmupTime, tt.n), tt.first+tt.n+10)
		if got := dues[tt.first+tt.n-1]; got != tt.end {
			t.Errorf("%v, %d requests after %d: the last is due at %v, want %v", tt.level, tt.n, tt.first, got, tt.end)
		}
		if tt.first > 0 && dues[tt.first-1] != tt.begin {
			t.Errorf("%v: request %d of the warm-up is due at %v, want %v", tt.level, tt.first, dues[tt.first-1], tt.begin)
		}
		if !slices.IsSorted(dues) {
			t.Errorf("%v: the instants decrease", tt.level)
		}
		if tt.level.RampUp > 0 || tt.n == 1 {
			continue
		}
		// Gaps are proportional within a block, and as drawn behind the blocks.
		drawn, scaled := gaps(first(tt.level, tt.first+tt.n+10)), gaps(dues)
		factor := scaled[tt.first+1] / drawn[tt.first+1]
		for i := range scaled {
			want := drawn[i]
			switch {
			case i >= tt.first+tt.n:
			case i >= tt.first:
				want *= factor
			default:
				want *= scaled[0] / drawn[0]
			}
			if math.Abs(scaled[i]-want) > 1e-6*want+3e-9 {
				t.Fatalf("%v: gap %d is %.9f, want %.9f", tt.level, i, scaled[i], want)
			}
		}
	}
	const n = 20_000
	scaled := gaps(first(Rate{PerSecond: 1, Arrivals: Poisson}.Scaled(0, 0, n), n))
	if d, most := ksDistance(scaled, gammaCDF(1)), ksCritical(n); d > most {
		t.Errorf("scaled gaps are %.4f from the exponential distribution, at most %.4f is chance", d, most)
	}
	for name, level := range map[string]Rate{
		"unscaled":      {PerSecond: 20, Arrivals: Poisson, Unscaled: true},
		"constant":      {PerSecond: 20},
		"nothing to do": {PerSecond: 20, Arrivals: Poisson},
	} {
		n := 50
		if name == "nothing to do" {
			n = 0
		}
		if got := first(level.Scaled(5, 0, n), 60); !slices.Equal(got, first(level, 60)) {
			t.Errorf("%s: Scaled changes the schedule", name)
		}
	}
}

func TestRecordedSchedules(t *testing.T) {
	ms := func(all ...int) []time.Duration {
		var d []time.Duration
		for _, x := range all {
			d = append(d, time.Duration(x)*time.Millisecond)
		}
		return d
	}
	for _, tt := range []struct {
		name  string
		level Open
		n     int
		want  []time.Duration
	}{
		{"intervals repeat", Intervals{Gaps: ms(100, 0, 30)}, 7, ms(100, 100, 130, 230, 230, 260, 360)},
		{"intervals twice as fast", Intervals{Gaps: ms(100, 110), Speed: 2}, 3, ms(50, 105, 155)},
		{"a timetable begins with its first request", Timetable{Offsets: ms(5000, 5000, 5250, 6000)}, 9, ms(0, 0, 250, 1000)},
		{"a timetable at half the speed", Timetable{Offsets: ms(0, 10, 30), Speed: 0.5}, 3, ms(0, 20, 60)},
		{"one request", Timetable{Offsets: ms(7)}, 2, ms(0)},
	} {
		if got := first(tt.level, tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestFarFuture checks that instants beyond the largest Duration stay at the largest
// Duration.
func TestFarFuture(t *testing.T) {
	for _, level := range []Open{
		Rate{PerSecond: minRate},
		Rate{PerSecond: minRate, Arrivals: Poisson, RampUp: math.MaxInt64},
		Rate{PerSecond: minRate, Arrivals: Poisson}.Scaled(0, 0, 900),
		Rate{PerSecond: 10, Arrivals: Gamma, Burstiness: minShape}.Scaled(1, 0, 1),
		Intervals{Gaps: []time.Duration{math.MaxInt64 / 3}, Speed: 0.01},
		Timetable{Offsets: []time.Duration{0, math.MaxInt64}, Speed: 0.01},
	} {
		before := time.Duration(0)
		for i, due := range first(level, 1000) {
			if due < before {
				t.Fatalf("%v: request %d is due at %v, before the previous request", level, i, due)
			}
			before = due
		}
	}
}

func BenchmarkSchedule(b *testing.B) {
	for _, level := range []Open{
		Rate{PerSecond: 2000},
		Rate{PerSecond: 2000, Arrivals: Poisson},
		Rate{PerSecond: 2000, Arrivals: Gamma, Burstiness: 0.5},
		Intervals{Gaps: []time.Duration{100, 200, 300}},
	} {
		name := fmt.Sprintf("%T", level)
		if r, ok := level.(Rate); ok {
			name = r.Arrivals.String()
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := level.Schedule()
			for b.Loop() {
				s.Next()
			}
		})
	}
}

// ksDistance returns the largest difference between the distribution of x and cdf.
func ksDistance(x []float64, cdf func(float64) float64) float64 {
	x = slices.Sorted(slices.Values(x))
	d, n := 0.0, float64(len(x))
	for i, v := range x {
		f := cdf(v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// ksCritical returns the distance that 1 in 1000 samples of n values exceed:
// √(−ln(0.0005)/2) over √n, for large n.
func ksCritical(n int) float64 { return math.Sqrt(-math.Log(0.0005)/2) / math.Sqrt(float64(n)) }

// lag1 returns the correlation of neighbouring values.
func lag1(x []float64) float64 {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	var with, self float64
	for i, v := range x {
		self += (v - mean) * (v - mean)
		if i > 0 {
			with += (v - mean) * (x[i-1] - mean)
		}
	}
	return with / self
}

// gammaCDF returns the distribution function of a gamma variable of mean 1: the
// regularized incomplete gamma function P(a, a·x), by its series
// z^a·e^−z/Γ(a+1)·Σ z^k/((a+1)…(a+k)).
func gammaCDF(a float64) func(float64) float64 {
	lg, _ := math.Lgamma(a + 1)
	return func(x float64) float64 {
		z := a * x
		if z <= 0 {
			return 0
		}
		term, sum := 1.0, 1.0
		for k := 1.0; term > 1e-16*sum; k++ {
			term *= z / (a + k)
			sum += term
		}
		return min(sum*math.Exp(a*math.Log(z)-z-lg), 1)
	}
}
