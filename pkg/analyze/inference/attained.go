package inference

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// Attained estimates the share of requests that meet an objective. margins has a margin for each
// request, in the order of time: a margin of 0 or more meets the objective, and a larger margin
// meets it better. Only the order of the margins matters, not their unit.
//
// The interval is the exact interval of a binomial count (Clopper and Pearson, Biometrika 26,
// 1934) with an effective number of requests (Korn and Graubard, Survey Methodology 24, 1998):
// the number of requests divided by the design effect of [missesTogether], and by (t/z)², where t
// and z are the quantiles of Student's distribution with 16 degrees of freedom and of the normal
// distribution, because the design effect is measured. There is an interval for any number of
// requests, also if all of them meet the objective.
func Attained(margins []float32) Estimate {
	n := len(margins)
	if n == 0 {
		return unavailable(math.NaN(), 0, "no requests")
	}
	met := 0
	for _, m := range margins {
		if m >= 0 {
			met++
		}
	}
	return attainedOf(float64(met)/float64(n), n, missesTogether(margins))
}

// attainedOf estimates a share that n requests attain, with a design effect.
func attainedOf(share float64, n int, effect float64) Estimate {
	effective := float64(n) / effect
	return Estimate{Value: share, N: n, EffectiveN: effective, pivot: pivot{waves, func(t float64) Interval {
		tail := StudentUpper(t, waves)
		z := normalQuantile(1 - tail)
		if !(t > 0 && z > 0) || math.IsInf(z, 1) {
			return Interval{share, share}
		}
		return binomialInterval(share, effective*square(z/t), tail)
	}}}
}

// fewestWorst is the number of worst requests that show how strongly misses come together.
const fewestWorst = 100

// missesTogether returns the design effect of missing an objective: the variance of the share
// of requests that miss it, divided by the variance for independent requests. It is at least 1.
//
// In a queue, long waits come together. Few misses hardly show how strongly, and a level
// without a miss does not show it at all. So the design effect is the largest of three: for the
// requests that miss the objective, for the fewestWorst worst requests, and for the worse half.
// The rarer requests mostly depend less on each other. Each design effect is the larger of two
// measurements: by the slowest waves and by the sum of autocorrelations, see [spread]. Slow waves
// with much more energy than faster ones hint at still slower ones, so the first measurement grows
// with the rise.
func missesTogether(margins []float32) float64 {
	n := len(margins)
	sorted := slices.Sorted(slices.Values(margins))
	effect := 1.0
	for i, limit := range [...]float32{0, sorted[min(n/2, fewestWorst)], sorted[n/2]} {
		atLimit := 0.5
		if i == 0 { // meets the objective
			atLimit = 0
		}
		worse := func(i int) float64 {
			switch m := margins[i]; {
			case m < limit:
				return 1
			case m > limit:
				return 0
			}
			return atLimit
		}
		vary := false
		for i := 1; i < n && !vary; i++ {
			vary = worse(i) != worse(0)
		}
		if vary {
			s := spreadOf(n, worse)
			effect = max(effect, s.longRun/s.variance*max(1, s.rise/maxRise), s.tau)
		}
	}
	return min(effect, float64(n))
}

// binomialInterval returns the interval of a share of n independent requests that leaves out the
// probability tail on either side. n need not be whole.
func binomialInterval(share, n, tail float64) Interval {
	met, missed := share*n, (1-share)*n
	i := Interval{0, 1}
	if met > 0 {
		i.Low = math.Min(share, betaQuantile(met, missed+1, tail))
	}
	if missed > 0 {
		i.High = math.Max(share, 1-betaQuantile(missed, met+1, tail))
	}
	return i
}

// betaQuantile returns the x below which a beta variable lies with probability p.
func betaQuantile(a, b, p float64) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		if mid := lo + (hi-lo)/2; stat.IncompleteBeta(a, b, mid, 1-mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}
