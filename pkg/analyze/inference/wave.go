package inference

import "math"

const (
	// waves is the number of slowest cosine waves that measure the spread of an
	// average, and the degrees of freedom of that measurement. It is fixed, not
	// tuned to the data: in a longer run the spectrum under the same sixteen waves
	// is flatter.
	waves = 16

	// faster is how many of the next waves these are compared with, to see
	// whether the spectrum is flat there.
	faster = 48

	// blocks bounds the number of sums to which a series is reduced. The slowest
	// sixteen waves and the sum of the autocorrelations do not change by it; time
	// and memory become linear in the length.
	blocks = 2048
)

// A spread says how much the average of a series varies.
type spread struct {
	n        int
	variance float64 // of one value
	longRun  float64 // n times the variance of the average of n values
	tau      float64 // autocorrelation time, in values: longRun over variance, by Geyer's sum
	rise     float64 // energy of a slow wave divided by the energy of a faster one
}

// effective returns the number of independent values whose average varies as much
// as the average of the series. It may exceed n if neighbours balance each other.
func (s *spread) effective() float64 { return float64(s.n) * s.variance / s.longRun }

// forRule returns the effective number for the rule, at most n. It comes from the
// autocorrelation time, which varies less from run to run than the waves do.
func (s *spread) forRule() float64 { return float64(s.n) / math.Max(1, s.tau) }

// spreadOf measures the series at(0) … at(n-1), which must have n ≥ 2 values
// that are finite and not all equal.
//
// The long-run variance is the average energy of the 16 slowest cosine waves,
//
//	Λ_j = √(2/n) · Σ_t (x_t − x̄)·cos(πj(t − ½)/n),  j = 1 … 16,
//	longRun = Σ Λ_j² / 16.
//
// If the dependence fades over a time that is short against n/16, the Λ_j are
// nearly normal, with the long-run variance, and independent of each other and of
// the average. Then (x̄ − µ)/√(longRun/n) has Student's t distribution with 16
// degrees of freedom. This is the equal-weighted cosine
// estimator: Müller, Journal of Econometrics 141 (2007); Lazarus, Lewis, Stock
// and Watson, Journal of Business & Economic Statistics 36 (2018).
func spreadOf(n int, at func(i int) float64) spread {
	mean := 0.0
	for i := range n {
		mean += (at(i) - mean) / float64(i+1)
	}
	d := newDeviations(n, mean)
	for i := range n {
		d.add(at(i))
	}
	return d.spread()
}

// deviations sums how far the values of a series are from their mean. The caller adds all values in order.
type deviations struct {
	mean    float64
	n, size int // values of the series, and of a sum
	sums    []float64
	sum     float64 // of the values of no sum yet
	left    int     // values until the sum ends
	squares float64
}

// newDeviations returns the deviations of n values from their mean.
func newDeviations(n int, mean float64) deviations {
	size := (n + blocks - 1) / blocks
	return deviations{mean: mean, n: n, size: size, left: size, sums: make([]float64, 0, (n+size-1)/size)}
}

// add adds the next value.
func (d *deviations) add(v float64) {
	v -= d.mean
	d.sum += v
	d.squares += v * v
	if d.left--; d.left == 0 {
		d.endSum()
	}
}

func (d *deviations) endSum() {
	d.sums = append(d.sums, d.sum)
	d.sum, d.left = 0, d.size
}

// spread returns the spread of the series. All values have been added.
func (d *deviations) spread() spread {
	if d.left < d.size {
		d.endSum()
	}
	n, size, sums, variance := d.n, d.size, d.sums, d.squares/float64(d.n)
	s := spread{n: n, variance: variance}
	slow, fast := energies(sums, size, n)
	// A series that repeats exactly has no energy in slow waves. Its average is
	// still off by up to a value in n, depending on where the series was cut.
	s.longRun = math.Max(slow, variance/float64(n))
	s.rise = s.longRun / math.Max(fast, variance/float64(n))
	if n%size != 0 {
		sums = sums[:len(sums)-1] // shorter than the others
	}
	s.tau = autocorrelationSum(sums) / float64(size) / variance
	return s
}

// energies returns the average squared amplitude of the slowest waves in n
// values, and of the next faster waves. sums holds the sums over size neighbours,
// the last one perhaps of fewer; each counts at the middle of its values.
func energies(sums []float64, size, n int) (slow, fast float64) {
	var amplitude [waves + faster]float64
	addWaves(amplitude[:], len(sums), func(i int) (value, cosine float64) {
		mid := float64(i*size+min(i*size+size, n)) / 2
		return sums[i], math.Cos(math.Pi * mid / float64(n))
	})
	for j, a := range amplitude {
		if e := a * a * 2 / float64(n); j < waves {
			slow += e / waves
		} else {
			fast += e / faster
		}
	}
	return slow, fast
}

// addWaves adds n values to the amplitudes of the waves j = 1, 2, …: each value times cos(jθ), of which
// at returns the value and cos(θ). It takes one cosine a value:
//
//	cos(jθ) = 2·cos(θ)·cos((j−1)θ) − cos((j−2)θ)
//
// Each step waits for the previous step, so two values go side by side, which is twice as fast. The
// values are added in their order.
func addWaves(amplitudes []float64, n int, at func(i int) (value, cosine float64)) {
	for i := 0; i < n; i += 2 {
		v, c := at(i)
		w, d := 0.0, 0.0
		if i+1 < n {
			w, d = at(i + 1)
		}
		nowV, nowW, beforeV, beforeW := c, d, 1.0, 1.0
		for j, a := range amplitudes {
			a += v * nowV
			amplitudes[j] = a + w*nowW
			beforeV, nowV = nowV, 2*c*nowV-beforeV
			beforeW, nowW = nowW, 2*d*nowW-beforeW
		}
	}
}

// autocorrelationSum returns γ(0) + 2·Σγ(k) of a series whose average is near
// 0, by Geyer's initial monotone sequence: the sums of neighbouring pairs
// γ(2k) + γ(2k+1) are added as long as they are positive, each counted at most
// as high as the previous sum (Statistical Science 7, 1992, section 3.3). It is
// negative if every second value balances the previous value.
func autocorrelationSum(x []float64) float64 {
	n := len(x)
	mean := 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(n)
	gamma := func(lag int) float64 {
		sum := 0.0
		for i := lag; i < n; i++ {
			sum += (x[i-lag] - mean) * (x[i] - mean)
		}
		return sum / float64(n)
	}
	first := gamma(0)
	total, least := -first, math.Inf(1)
	for lag := 0; lag+1 < n; lag += 2 {
		pair := gamma(lag+1) + gamma(lag)
		if !(pair > 0) {
			break
		}
		least = math.Min(least, pair)
		total += 2 * least
	}
	return total
}
