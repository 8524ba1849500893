package inference

import (
	"math"
	"math/rand/v2"
	"testing"
)

// logAR returns exp of a stationary Gaussian AR(1) process.
func logAR(seed uint64, n int, rho, sd float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	z := rng.NormFloat64()
	for i := range x {
		x[i] = math.Exp(sd * z)
		z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
	}
	return x
}

// slowEnergies is the formula of the comment, value by value.
func slowEnergies(x []float64) (slow, fast float64) {
	n, mean := float64(len(x)), 0.0
	for _, v := range x {
		mean += v / n
	}
	for j := 1; j <= waves+faster; j++ {
		sum := 0.0
		for i, v := range x {
			sum += (v - mean) * math.Cos(math.Pi*float64(j)*(float64(i)+0.5)/n)
		}
		if j <= waves {
			slow += sum * sum * 2 / n / waves
		} else {
			fast += sum * sum * 2 / n / faster
		}
	}
	return slow, fast
}

// slowTau is Geyer's sum, value by value.
func slowTau(x []float64) float64 {
	n, mean := len(x), 0.0
	for _, v := range x {
		mean += v / float64(n)
	}
	gamma := make([]float64, n+1)
	for lag := range n {
		for i := lag; i < n; i++ {
			gamma[lag] += (x[i] - mean) * (x[i-lag] - mean) / float64(n)
		}
	}
	sum, least := -gamma[0], math.Inf(1)
	for k := 0; 2*k+1 < n; k++ {
		least = min(least, gamma[2*k]+gamma[2*k+1])
		if least <= 0 {
			break
		}
		sum += 2 * least
	}
	return sum / gamma[0]
}

func at(x []float64) func(int) float64 { return func(i int) float64 { return x[i] } }

func TestSpreadOf(t *testing.T) {
	for _, tt := range []struct {
		name      string
		n         int
		rho       float64
		tolerance float64 // relative: above 2048 values neighbours are summed
	}{
		{"two", 2, 0, 1e-9},
		{"few", 20, 0.5, 1e-9},
		{"whole", 2048, 0.8, 1e-9},
		{"summed by two, one left over", 2049, 0.8, 0.02},
		{"summed by three", 6000, 0.8, 0.02},
		{"alternating", 1000, -0.9, 1e-9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := logAR(3, tt.n, tt.rho, 0.5)
			s := spreadOf(len(x), at(x))
			slow, fast := slowEnergies(x)
			if got := s.longRun / slow; !near(got, 1, tt.tolerance) {
				t.Errorf("long-run variance is %v of what the formula gives", got)
			}
			if got := s.rise / (slow / fast); !near(got, 1, tt.tolerance) {
				t.Errorf("rise is %v of what the formula gives", got)
			}
			if want := slowTau(x); !near(s.tau, want, math.Max(1e-9, 3*tt.tolerance*want)) {
				t.Errorf("autocorrelation time %v, want %v", s.tau, want)
			}
		})
	}
}

// Theory of a long AR(1) process: τ = (1+ρ)/(1−ρ), and a long-run variance of τ·σ².
func TestSpreadOfTheory(t *testing.T) {
	for _, rho := range []float64{0, 0.5, 0.8, -0.5} {
		const n = 200_000
		x := logAR(5, n, rho, 1)
		for i, v := range x {
			x[i] = math.Log(v)
		}
		s := spreadOf(n, at(x))
		want := (1 + rho) / (1 - rho)
		if got := s.tau; math.Abs(got/want-1) > 0.15 {
			t.Errorf("ρ = %v: autocorrelation time %v, want about %v", rho, got, want)
		}
		// 16 waves: a chi-squared with 16 degrees of freedom, sd 35 %.
		if got := s.longRun / s.variance; math.Abs(got/want-1) > 1.1 {
			t.Errorf("ρ = %v: long-run variance %v times the variance, want about %v", rho, got, want)
		}
	}
}

// A series that repeats exactly has no slow waves; what is left is the cut.
func TestSpreadOfPeriodic(t *testing.T) {
	x := make([]float64, 1000)
	for i := range x {
		x[i] = float64(i % 2)
	}
	s := spreadOf(len(x), at(x))
	if s.longRun <= 0 || s.effective() <= 1000 || s.forRule() != 1000 {
		t.Errorf("long-run variance %v, effective %v, for the rule %v; want > 0, > 1000, 1000", s.longRun, s.effective(), s.forRule())
	}
}

func BenchmarkQuantile(b *testing.B) {
	x := logAR(1, 100_000, 0.8, 0.5)
	b.ReportAllocs()
	for b.Loop() {
		NewSeries(x).Quantile(0.99)
	}
}
