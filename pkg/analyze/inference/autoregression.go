package inference

import (
	"cmp"
	"math"
	"slices"
)

// An autoregression is a model of how much each value of a short series depends on the
// previous value: a stationary Gaussian process x_t − µ = φ·(x_{t−1} − µ) + ε_t with unknown
// µ, φ and deviation of ε. The model keeps all values of φ, weighted by their likelihood,
// because few values hardly determine φ. An interval that averages over them includes this
// uncertainty.
//
// Fewer than noisyMax values that seem to depend on each other may also be such a process with independent
// noise in each value. Noise hides how long values depend on each other: the φ that fits without noise is
// too small. See [autoregression.addNoise].
type autoregression struct {
	n int
	// logLikelihood is the logarithm of the likelihood of each [dependence], with µ and the
	// deviation integrated out (flat priors on µ, on the logarithm of the deviation and on
	// the dependences), up to a constant.
	logLikelihood perDependence
	// innovation is the estimated variance of a value times 1 − φ² for each dependence: without
	// noise, the variance of ε.
	innovation perDependence
	// noisy says that dependences with noise have a likelihood.
	noisy bool
	// neighbours is the correlation of neighbouring normal scores.
	neighbours float64
	// slow is the energy of the slowest waves of the series, divided by the energy that
	// the model predicts for them.
	slow float64
}

// A dependence says how values depend on each other: values k apart have the correlation (1 − noise)·φ^k.
type dependence struct {
	phi   float64
	noise float64 // share of the variance that is independent noise
}

// neighbours returns the correlation of neighbouring values.
func (d dependence) neighbours() float64 { return (1 - d.noise) * d.phi }

const (
	// phiCount is the number of values of φ over which the model without noise averages: −0.96 to 0.96.
	phiCount = 49
	// noisyPhis and noiseShares are the numbers of values of φ and of the noise share in dependences with noise.
	noisyPhis, noiseShares = 3, 3
	dependences            = phiCount + noisyPhis*noiseShares
	// noisyMax is the number of values from which on their dependence has no noise: the sum of their
	// autocorrelations (see minSum) shows how long it is.
	noisyMax = minEffective
	// seemingDependence is how many standard errors the correlation of neighbouring values must be above 0
	// for noise to be considered. By chance it is that high in one of 44 pairs of independent series.
	seemingDependence = 2.0
)

// A perDependence has a number for each dependence: first the phiCount without noise.
type perDependence [dependences]float64

// dependenceAt returns the i-th dependence. With noise, φ is 0.7, 0.8 or 0.9, and the noise is 0.15, 0.3 or 0.45.
func dependenceAt(i int) dependence {
	if i < phiCount {
		return dependence{phi: float64(i-phiCount/2) / 25}
	}
	i -= phiCount
	return dependence{phi: 0.7 + 0.1*float64(i/noiseShares), noise: 0.15 * float64(1+i%noiseShares)}
}

// robustFit fits the model to the values and to their normal scores, which outliers and skewed
// values do not disturb. It returns the likelihoods of the fit with the greater
// dependence and the greater of the two energies, but always the innovations of the values.
func robustFit(x []float64) *autoregression {
	scores := normalScores(x)
	fit, ofScores := fitAutoregression(x), fitAutoregression(scores)
	fit.slow = math.Max(fit.slowEnergy(x), ofScores.slowEnergy(scores))
	fit.neighbours = lagOne(scores)
	if len(x) < noisyMax {
		fit.addNoise(x)
		ofScores.addNoise(scores)
	}
	fit.atLeast(ofScores)
	return fit
}

// averageVariance returns the variance of the average of the values, for the expected φ of
// [robustFit].
func averageVariance(x []float64) float64 {
	fit := fitAutoregression(x)
	fit.atLeast(fitAutoregression(normalScores(x)))
	p, innovation := fit.expected()
	return innovation / (1 - p*p) * meanVariance(dependence{phi: p}, len(x))
}

// atLeast replaces the likelihoods by the likelihoods of another fit if its dependence is greater.
func (f *autoregression) atLeast(other *autoregression) {
	if a, b := other.weights(false), f.weights(false); a.mean() > b.mean() {
		f.logLikelihood = other.logLikelihood
	}
}

// fitAutoregression fits the model without noise to at least 3 values that are not all equal, without slow.
//
// For a given φ, the squared residuals of the whole series with its stationary start
// are (1−φ²)(x_1−µ)² + Σ (x_t − φx_{t−1} − (1−φ)µ)². This is a quadratic a·µ² − 2bµ + c with
// the minimum c − b²/a. The likelihood is √(1−φ²) · a^{−1/2} · (c − b²/a)^{−(n−1)/2}.
func fitAutoregression(x []float64) *autoregression {
	n, mean := float64(len(x)), vectorOf(slice(x)).mean()
	var squares, products float64
	for i, v := range x {
		squares += square(v - mean)
		if i > 0 {
			products += float64((v - mean) * (x[i-1] - mean))
		}
	}
	first, last := x[0]-mean, x[len(x)-1]-mean
	f := &autoregression{n: len(x)}
	for i := range phiCount {
		p := dependenceAt(i).phi
		a := (1 - p*p) + (n-1)*square(1-p)
		b := (1-p*p)*first + (1-p)*(p*last-first)
		c := (1-p*p)*square(first) + (squares - square(first)) - 2*p*products + p*p*(squares-square(last))
		residuals := math.Max(c-b*b/a, squares*1e-12)
		f.logLikelihood[i] = (math.Log(1-p*p) - math.Log(a) - (n-1)*math.Log(residuals)) / 2
		f.innovation[i] = residuals / (n - 1)
	}
	return f
}

// addNoise fits the dependences with noise to the values: the sum of an autoregression with the share 1 − noise
// of the variance, and of independent noise. The Kalman filter predicts each value from the previous ones; the
// predictions of a constant are filtered in the same way. With the errors e of the values, u of the constant 1,
// and their variances F, the likelihood is as in [fitAutoregression] with a = Σ u²/F, b = Σ u·e/F,
// c = Σ e²/F and the factor Π F^{−1/2} instead of √(1−φ²).
func (f *autoregression) addNoise(x []float64) {
	f.noisy = true
	n, mean := float64(len(x)), vectorOf(slice(x)).mean()
	for i := phiCount; i < dependences; i++ {
		d := dependenceAt(i)
		var state, constant float64 // predicted parts of the next values that are not noise
		variance := 1 - d.noise     // of the prediction
		var a, b, c, logs float64
		for _, v := range x {
			total := variance + d.noise
			gain := variance / total
			e, u := v-mean-state, 1-constant
			a += u * u / total
			b += u * e / total
			c += e * e / total
			logs += math.Log(total)
			state = d.phi * (state + gain*e)
			constant = d.phi * (constant + gain*u)
			variance = d.phi*d.phi*variance*(1-gain) + (1-d.phi*d.phi)*(1-d.noise)
		}
		residuals := math.Max(c-b*b/a, c*1e-12)
		f.logLikelihood[i] = -(logs + math.Log(a) + (n-1)*math.Log(residuals)) / 2
		f.innovation[i] = (1 - d.phi*d.phi) * residuals / (n - 1)
	}
}

// maxSlowWaves is the largest number of slowest waves that are checked against the model.
const maxSlowWaves = 64

// slowWaves returns the number of slowest waves of n values that are checked against the model.
func slowWaves(n int) int { return min(max(2, n/18), maxSlowWaves) }

// slowEnergy computes slow: the average over the slowest cosine waves (see [spreadOf])
// of energy over the model's spectral density at the wave's frequency.
func (f *autoregression) slowEnergy(x []float64) float64 {
	p, innovation := f.expected()
	n, k := float64(len(x)), slowWaves(len(x))
	var energies [maxSlowWaves]float64
	waveEnergies(x, energies[:k])
	sum := 0.0
	for j, energy := range energies[:k] {
		frequency := math.Pi * float64(j+1) / n
		density := innovation / (1 - 2*p*math.Cos(frequency) + p*p)
		sum += energy / density
	}
	return sum / float64(k)
}

// waveEnergies fills energies with the squared amplitudes of the slowest cosine waves (see
// [spreadOf]) of the values less their mean.
func waveEnergies(x, energies []float64) {
	n, mean := float64(len(x)), vectorOf(slice(x)).mean()
	var amplitudes [maxSlowWaves]float64
	k := len(energies)
	addWaves(amplitudes[:k], len(x), func(i int) (value, cosine float64) {
		return x[i] - mean, math.Cos(math.Pi * (float64(i) + 0.5) / n)
	})
	for j, amplitude := range amplitudes[:k] {
		energies[j] = square(amplitude) * 2 / n
	}
}

// maxSlow returns the largest slow that chance explains: the average of k squares of
// standard normal values exceeds it in one of 1000 series (Wilson and Hilferty's approximation).
func maxSlow(n int) float64 {
	const z = 3.09
	k := float64(slowWaves(n))
	cube := 1 - 2/(9*k) + z*math.Sqrt(2/(9*k))
	return cube * cube * cube
}

// weights returns the posterior distribution of the dependences; of dependences with noise only if noise is
// set and the series seems dependent.
func (f *autoregression) weights(noise bool) dependenceWeights {
	w, _ := normalized(&f.logLikelihood, noise && f.noisy && seemDependent(f))
	return w
}

// expected returns the expected φ and the expected innovation, without noise.
func (f *autoregression) expected() (p, innovation float64) {
	w := f.weights(false)
	for i, v := range w {
		innovation += v * f.innovation[i]
	}
	return w.mean(), innovation
}

// seemDependent reports whether neighbouring values of some series together seem to be correlated. Independent
// values hardly contradict a slow process with much noise, and would have a wide interval for nothing.
func seemDependent(series ...*autoregression) bool {
	sum, n := 0.0, 0.0
	for _, f := range series {
		sum += f.neighbours * float64(f.n)
		n += float64(f.n)
	}
	return sum > seemingDependence*math.Sqrt(n)
}

// sharedWeights returns the posterior distributions of the dependences for two series. Before the data is
// seen, it is equally probable that both series have the same dependence and that each has its own.
// Two runs of one server mostly have the same, so the data of both runs determine it. Dependences with noise
// are considered only if noise is set and the series together seem dependent.
func sharedWeights(a, b *autoregression, noise bool) (shared [2]dependenceWeights) {
	var sum perDependence
	for i := range sum {
		sum[i] = a.logLikelihood[i] + b.logLikelihood[i]
	}
	separate := [2]dependenceWeights{}
	var la, lb float64
	noise = noise && seemDependent(a, b)
	separate[0], la = normalized(&a.logLikelihood, noise && a.noisy)
	separate[1], lb = normalized(&b.logLikelihood, noise && b.noisy)
	both, l := normalized(&sum, noise && a.noisy && b.noisy)
	same := 1 / (1 + math.Exp(la+lb-l))
	for side := range shared {
		for i := range shared[side] {
			shared[side][i] = same*both[i] + (1-same)*separate[side][i]
		}
	}
	return shared
}

// normalized returns weights that are proportional to the likelihoods and sum to 1, and the
// logarithm of the average likelihood: of all dependences, or of the dependences without noise.
func normalized(logLikelihood *perDependence, noisy bool) (w dependenceWeights, logAverage float64) {
	considered := logLikelihood[:phiCount]
	if noisy {
		considered = logLikelihood[:]
	}
	largest := slices.Max(considered)
	sum := 0.0
	for i, l := range considered {
		w[i] = math.Exp(l - largest)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w, largest + math.Log(sum/float64(len(considered)))
}

// dependenceWeights holds the probability of each dependence.
type dependenceWeights perDependence

// mean returns the expected correlation of neighbouring values, which is φ without noise.
func (w *dependenceWeights) mean() float64 {
	sum := 0.0
	for i, v := range w {
		sum += v * dependenceAt(i).neighbours()
	}
	return sum
}

// relevant calls f with the index and the weight of each dependence whose weight is above 1e-5.
func (w *dependenceWeights) relevant(f func(i int, weight float64)) {
	for i, v := range w {
		if v > 1e-5 {
			f(i, v)
		}
	}
}

// meanVariance returns the variance of the mean of n values with a dependence, whose values have
// variance 1.
func meanVariance(d dependence, n int) float64 {
	p, size := d.phi, float64(n)
	v := ((1+p)/(1-p) - 2*p*(1-math.Pow(p, size))/(size*square(1-p))) / size
	return (1-d.noise)*v + d.noise/size
}

// effectiveSize returns the effective sample size of n values of the model with φ = p: how many
// independent values have an average that varies as much.
func effectiveSize(p float64, n int) float64 { return float64(n) * (1 - p) / (1 + p) }

// quantileEffectiveSize returns the effective sample size of n values with a dependence for the
// quantile q: how many independent values determine the quantile as well. The
// indicator "is below the quantile" is a series of its own. Its autocovariance at lag k is the
// autocovariance of two normal values with correlation r = (1 − noise)·φ^k:
//
//	P(both below) − q² = d² · Σ_{j≥1} He_{j−1}(z)² · r^j / j!,
//
// with z the normal quantile and d its density (Mehler's series). The sum over all lags
// is a geometric one for each j.
func quantileEffectiveSize(q float64, d dependence, n int) float64 {
	z := normalQuantile(q)
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	size := float64(n)
	sum := 0.0
	// h is He_{j−1}(z)/√(j!): kept scaled, because both grow without bound.
	before, h := 0.0, 1.0
	dependent := 1 - d.noise
	for j, r := 1.0, d.phi; j <= 400 && math.Abs(r) > 1e-9; j, r = j+1, r*d.phi {
		// Σ_{k=1…n−1} (1 − k/n)·r^k
		lags := r/(1-r) - r*(1-math.Pow(r, size))/(size*square(1-r))
		sum += dependent * h * h * lags
		dependent *= 1 - d.noise
		// He_j = z·He_{j−1} − (j−1)·He_{j−2}
		before, h = h, z*h/math.Sqrt(j+1)-(j-1)*before/math.Sqrt(j*(j+1))
	}
	variance := q * (1 - q)
	return size * variance / (variance + 2*square(density)*sum)
}

// normalQuantile returns the z below which a standard normal value lies with probability
// p, 0 < p < 1.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// normalScores replaces each value by the normal quantile of its rank; equal values
// share the average of their ranks.
func normalScores(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	scores := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		score := normalQuantile((float64(i+j) / 2) / float64(len(x)))
		for ; i < j; i++ {
			scores[order[i]] = score
		}
	}
	return scores
}
