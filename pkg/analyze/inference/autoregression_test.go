package inference

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The likelihood equals the multivariate normal distribution's, with the covariance
// φ^|i−j|/(1−φ²), with µ and the deviation integrated out. With noise, the values have variance 1, and the
// correlation (1−noise)·φ^|i−j|.
func TestLikelihoodOfAutoregression(t *testing.T) {
	x := []float64{3, 1, 4, 1.5, 5, 9, 2.6}
	f := fitAutoregression(x)
	f.addNoise(x)
	n := float64(len(x))
	dense := func(d dependence) (logLikelihood, variance float64) {
		covariance := make([][]float64, len(x))
		for i := range covariance {
			for j := range x {
				covariance[i] = append(covariance[i], (1-d.noise)*math.Pow(d.phi, math.Abs(float64(i-j))))
			}
			covariance[i][i] += d.noise
		}
		ones := slices.Repeat([]float64{1}, len(x))
		logDeterminant, u, v := solve(covariance, x, ones)
		_, _, w := solve(covariance, ones, ones)
		var c, b, a float64 // x'Σ⁻¹x, 1'Σ⁻¹x, 1'Σ⁻¹1
		for i := range x {
			c, b, a = c+x[i]*u[i], b+x[i]*v[i], a+w[i]
		}
		residuals := c - b*b/a
		return -(logDeterminant + math.Log(a) + (n-1)*math.Log(residuals)) / 2, residuals / (n - 1)
	}
	base, _ := dense(dependenceAt(0))
	for i := range dependences {
		d := dependenceAt(i)
		want, variance := dense(d)
		if got := f.logLikelihood[i] - f.logLikelihood[0]; !near(got, want-base, 1e-9) {
			t.Errorf("%+v: log-likelihood %v, want %v", d, got, want-base)
		}
		if got := f.innovation[i] / (1 - d.phi*d.phi); !near(got, variance, 1e-9*variance) {
			t.Errorf("%+v: variance %v, want %v", d, got, variance)
		}
	}
}

// solve returns ln|m| and the solutions of m·u = a and m·v = b, by Gauss' elimination.
func solve(m [][]float64, a, b []float64) (logDeterminant float64, u, v []float64) {
	u, v = slices.Clone(a), slices.Clone(b)
	rows := make([][]float64, len(m))
	for i := range m {
		rows[i] = slices.Clone(m[i])
	}
	for i := range rows {
		logDeterminant += math.Log(rows[i][i])
		for j := range rows {
			if j == i {
				continue
			}
			factor := rows[j][i] / rows[i][i]
			for k := range rows[j] {
				rows[j][k] -= factor * rows[i][k]
			}
			u[j] -= factor * u[i]
			v[j] -= factor * v[i]
		}
	}
	for i := range rows {
		u[i], v[i] = u[i]/rows[i][i], v[i]/rows[i][i]
	}
	return logDeterminant, u, v
}

// The variance of the mean is the average of all covariances.
func TestMeanVariance(t *testing.T) {
	for _, n := range []int{1, 2, 30} {
		for _, d := range []dependence{{-0.9, 0}, {-0.2, 0}, {}, {0.5, 0}, {0.96, 0}, {0.9, 0.3}, {0.7, 0.5}} {
			want := 0.0
			for i := range n {
				for j := range n {
					want += (1 - d.noise) * math.Pow(d.phi, math.Abs(float64(i-j))) / float64(n*n)
				}
				want += d.noise / float64(n*n)
			}
			if got := meanVariance(d, n); !near(got, want, 1e-12) {
				t.Errorf("n = %d, %+v: %v, want %v", n, d, got, want)
			}
		}
	}
}

// The covariance of "is below the quantile" for two normal values with correlation r is
// the integral over r of their density at the quantile.
func TestQuantileWorth(t *testing.T) {
	for _, q := range []float64{0.5, 0.9, 0.99} {
		z := normalQuantile(q)
		covariance := func(r float64) float64 {
			const steps = 1000 // the sum's error is below 1e-6
			sum := 0.0
			for i := range steps {
				s := r * (float64(i) + 0.5) / steps
				sum += math.Exp(-z*z/(1+s)) / math.Sqrt(1-s*s) * r / steps
			}
			return sum / (2 * math.Pi)
		}
		for _, d := range []dependence{{-0.6, 0}, {}, {0.3, 0}, {0.8, 0}, {0.9, 0.3}, {0.7, 0.45}} {
			const n = 40
			variance := q * (1 - q)
			for k := 1; k < n; k++ {
				variance += 2 * (1 - float64(k)/n) * covariance((1-d.noise)*math.Pow(d.phi, float64(k)))
			}
			if got, want := quantileEffectiveSize(q, d, n), n*q*(1-q)/variance; !near(got, want, 1e-4*want) {
				t.Errorf("p%v, %+v: %v, want %v", 100*q, d, got, want)
			}
		}
	}
}

func TestNormalScores(t *testing.T) {
	got := normalScores([]float64{5, 1, 5, 9})
	low, middle := normalQuantile(0.125), normalQuantile(0.5)
	if d := cmp.Diff([]float64{middle, low, middle, -low}, got, cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Error(d)
	}
}

// Two series that depend alike say more about their dependence than one; of two that
// differ, each says what it shows itself.
func TestSharedWeights(t *testing.T) {
	deviation := func(w dependenceWeights) float64 {
		sum := 0.0
		for i, v := range w {
			sum += v * square(dependenceAt(i).phi-w.mean())
		}
		return math.Sqrt(sum)
	}
	calm, like, busy := robustFit(logAR(1, 100, 0, 0.3)), robustFit(logAR(2, 100, 0, 0.3)), robustFit(logAR(3, 100, 0.9, 0.3))
	alone := calm.weights(true)
	if w := sharedWeights(calm, like, true)[0]; deviation(w) > 0.85*deviation(alone) {
		t.Errorf("beside a series that depends alike the deviation of φ is %v, alone it is %v", deviation(w), deviation(alone))
	}
	if w := sharedWeights(calm, busy, true)[0]; !near(w.mean(), alone.mean(), 0.01) {
		t.Errorf("beside a series that depends more φ is %v, alone it is %v", w.mean(), alone.mean())
	}
}
