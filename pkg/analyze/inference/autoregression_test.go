package inference

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The likelihood equals the multivariate normal distribution's, with the covariance
// φ^|i−j|/(1−φ²), with µ and the deviation integrated out.
func TestLikelihoodOfAutoregression(t *testing.T) {
	x := []float64{3, 1, 4, 1.5, 5, 9, 2.6}
	f := fitAutoregression(x)
	n := float64(len(x))
	dense := func(p float64) (logLikelihood, residuals float64) {
		covariance := make([][]float64, len(x))
		for i := range covariance {
			for j := range x {
				covariance[i] = append(covariance[i], math.Pow(p, math.Abs(float64(i-j)))/(1-p*p))
			}
		}
		ones := slices.Repeat([]float64{1}, len(x))
		logDeterminant, u, v := solve(covariance, x, ones)
		_, _, w := solve(covariance, ones, ones)
		var c, b, a float64 // x'Σ⁻¹x, 1'Σ⁻¹x, 1'Σ⁻¹1
		for i := range x {
			c, b, a = c+x[i]*u[i], b+x[i]*v[i], a+w[i]
		}
		residuals = c - b*b/a
		return -(logDeterminant + math.Log(a) + (n-1)*math.Log(residuals)) / 2, residuals
	}
	base, _ := dense(phi(0))
	for i := range phiCount {
		want, residuals := dense(phi(i))
		if got := f.logLikelihood[i] - f.logLikelihood[0]; !near(got, want-base, 1e-9) {
			t.Errorf("φ = %v: log-likelihood %v, want %v", phi(i), got, want-base)
		}
		if !near(f.innovation[i], residuals/(n-1), 1e-9*residuals) {
			t.Errorf("φ = %v: variance %v, want %v", phi(i), f.innovation[i], residuals/(n-1))
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
		for _, p := range []float64{-0.9, -0.2, 0, 0.5, 0.96} {
			want := 0.0
			for i := range n {
				for j := range n {
					want += math.Pow(p, math.Abs(float64(i-j))) / float64(n*n)
				}
			}
			if got := meanVariance(p, n); !near(got, want, 1e-12) {
				t.Errorf("n = %d, φ = %v: %v, want %v", n, p, got, want)
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
		for _, p := range []float64{-0.6, 0, 0.3, 0.8} {
			const n = 40
			variance := q * (1 - q)
			for k := 1; k < n; k++ {
				variance += 2 * (1 - float64(k)/n) * covariance(math.Pow(p, float64(k)))
			}
			if got, want := quantileEffectiveSize(q, p, n), n*q*(1-q)/variance; !near(got, want, 1e-4*want) {
				t.Errorf("p%v, φ = %v: %v, want %v", 100*q, p, got, want)
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
	deviation := func(w phiWeights) float64 {
		sum := 0.0
		for i, v := range w {
			sum += v * square(phi(i)-w.mean())
		}
		return math.Sqrt(sum)
	}
	calm, like, busy := dependenceOf(logAR(1, 100, 0, 0.3)), dependenceOf(logAR(2, 100, 0, 0.3)), dependenceOf(logAR(3, 100, 0.9, 0.3))
	alone := calm.weights()
	if w := sharedWeights(calm, like)[0]; deviation(w) > 0.85*deviation(alone) {
		t.Errorf("beside a series that depends alike the deviation of φ is %v, alone it is %v", deviation(w), deviation(alone))
	}
	if w := sharedWeights(calm, busy)[0]; !near(w.mean(), alone.mean(), 0.01) {
		t.Errorf("beside a series that depends more φ is %v, alone it is %v", w.mean(), alone.mean())
	}
}
