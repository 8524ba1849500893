package inference

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/plural"
)

// Rate estimates amounts per time, Σ amounts / Σ durations, such as output
// tokens per second: amount i came in duration i. It takes them either per
// completed request (its tokens, and the time since the previous completion)
// or per slice of the run (the tokens that arrived in each tenth of a second).
// Fewer than 30 of either give no interval.
//
// The standard error is the standard error of the average of amount − rate·duration. The interval is
// symmetric on the logarithmic scale. With fewer than 2000 values, it is the widest of three
// intervals, see [shortRate]. Amounts and durations must be as many, finite and not negative.
func Rate(amounts, durations []float64) Estimate { return RateOf(slice(amounts), slice(durations)) }

// RateOf is [Rate] for values that may not be in memory.
func RateOf(amounts, durations Values) Estimate {
	n := amounts.Len()
	if durations.Len() != n {
		return unavailable(math.NaN(), n, fmt.Sprintf("%d amounts but %d durations", n, durations.Len()))
	}
	a, d := vectorOf(amounts), vectorOf(durations)
	var amount, duration float64
	for i := range n {
		for _, v := range [...]float64{a.at(i), d.at(i)} {
			if !usable(v) || v < 0 {
				return unavailable(math.NaN(), n, fmt.Sprintf("value %d is %v", i, v))
			}
		}
		amount += a.at(i)
		duration += d.at(i)
	}
	if !(duration > 0) {
		return unavailable(math.NaN(), n, "no time passed")
	}
	rate := amount / duration
	if n < minShortRate {
		e := unavailable(rate, n, fmt.Sprintf(plural.Form(n, "%d value; a rate needs %d", "%d values; a rate needs %d"), n, minShortRate))
		e.NA.Needs = minShortRate
		return e
	}
	if n < minRate && amount > 0 {
		return shortRate(a.all(), d.all(), rate)
	}
	residuals := amounts.Make(n, func(i int) float64 { return a.at(i) - rate*d.at(i) })
	e := newSeries(residuals, "values").mean(false)
	if e.EffectiveN == 0 { // no spread, or out of range
		return unavailable(rate, n, e.NA.Reason)
	}
	ends := e.pivot.ends
	perDuration := float64(n) / duration
	e.Value = rate
	e.pivot.ends = func(t float64) Interval {
		half := (ends(t).High - ends(0).High) * perDuration
		if rate > 0 {
			return Interval{rate * math.Exp(-half/rate), rate * math.Exp(half/rate)}
		}
		return Interval{rate - half, rate + half}
	}
	return e
}

// shortRate estimates a rate from few values as the mean of
//
//	rate·(1 + (amount − rate·duration)/mean amount),
//
// because this mean equals the rate and has the same relative error. Two things hide how much
// service times depend on each other: amounts that vary by themselves, and several slots, whose
// completions mix. The interval is therefore the widest of
//
//   - the interval of [Series.Mean], wider by a fifth, or by a tenth from 1000 values on;
//   - the interval from two autoregressions, see [splitVariance]. The ratio of its width to the
//     interval of [Series.Mean] is at most the ratio of the standard error from two
//     autoregressions to the standard error from one, because the completions of slots that
//     take turns balance, and an autoregression does not model that;
//   - the interval from the slowest cosine waves, one for each 75 values and at least 4, by
//     Student's t with as many degrees of freedom.
//
// The last two are 1 + 2/√n times as wide, because few values show little of a slow rhythm.
func shortRate(amounts, durations []float64, rate float64) Estimate {
	n := len(amounts)
	mean, meanDuration := 0.0, 0.0
	for i := range n {
		mean += amounts[i] / float64(n)
		meanDuration += durations[i] / float64(n)
	}
	x, residuals, relative := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		residuals[i] = (amounts[i] - rate*durations[i]) / mean
		relative[i] = durations[i] / meanDuration
		x[i] = rate * (1 + residuals[i])
	}
	e := NewSeries(x).anyMean(true, false)
	if e.EffectiveN == 0 { // no spread, or out of range
		return unavailable(rate, n, e.NA.Reason)
	}
	e.Value = rate

	factor := widenedRate
	if n >= steadyRate {
		factor = widenedSteadyRate
	}
	split := math.Sqrt(splitVariance(residuals, relative))
	splitFactor := split / math.Sqrt(averageVariance(residuals))
	slow := make([]float64, min(waves, max(fewestWaves, n/valuesOfWave)))
	waveEnergies(residuals, slow)
	longRun := 0.0
	for _, energy := range slow {
		longRun += energy / float64(len(slow))
	}
	fewFactor := 1 + widenedFew/math.Sqrt(float64(n))
	slowError := fewFactor * math.Sqrt(longRun/float64(n))
	widest := func(p pivot) pivot {
		return pivot{p.df, func(t float64) Interval {
			asMean := math.Log(p.ends(t).High / rate)
			half := factor * asMean
			if split > 0 {
				half = max(half, fewFactor*min(splitFactor*asMean, split*t))
			}
			if slowError > 0 {
				half = slowError * sameTail(t, p.df, float64(len(slow)), half/slowError)
			}
			return Interval{rate * math.Exp(-half), rate * math.Exp(half)}
		}}
	}
	if small := e.small; small != nil { // the other run of a comparison may change the weights
		wide := *small
		wide.pivot = func(w *dependenceWeights) pivot { return widest(small.pivot(w)) }
		e.small = &wide
	}
	if e.pivot.ends != nil {
		e.pivot = widest(e.pivot)
	}
	return e
}

// splitVariance returns the variance of the average of the residuals under the assumption that
// the residuals are the sum of two independent autoregressions: a multiple of the durations, and
// the rest. It is larger than the variance from one autoregression if the durations depend on
// each other and the rest does not. It is 0 if the durations, or the rest, are all equal.
func splitVariance(residuals, durations []float64) float64 {
	n := float64(len(residuals))
	var mean, meanDuration float64
	for i := range residuals {
		mean += residuals[i] / n
		meanDuration += durations[i] / n
	}
	var products, squares float64
	for i := range residuals {
		products += float64((residuals[i] - mean) * (durations[i] - meanDuration))
		squares += square(durations[i] - meanDuration)
	}
	if !(squares > 0) {
		return 0
	}
	shared, rest := make([]float64, len(residuals)), make([]float64, len(residuals))
	for i := range shared {
		shared[i] = float64(products / squares * (durations[i] - meanDuration))
		rest[i] = residuals[i] - mean - shared[i]
	}
	if allEqual(shared) || allEqual(rest) {
		return 0
	}
	return averageVariance(shared) + averageVariance(rest)
}

// sameTail returns the quantile of Student's distribution with df degrees of freedom whose upper
// tail is as probable as the upper tail of t ≥ 0 with ofT degrees of freedom, or least if that is
// larger. If the tail of t is too improbable for a float64, it returns the larger of t and least.
func sameTail(t, ofT, df, least float64) float64 {
	tail := StudentUpper(t, ofT)
	if t == 0 || tail == 0 {
		return math.Max(t, least)
	}
	excess := func(x float64) float64 { return math.Log(StudentUpper(x, df) / tail) }
	if !(excess(least) > 0) {
		return least
	}
	lo, hi := least, math.Max(2*least, t)
	for excess(hi) > 0 {
		lo, hi = hi, 2*hi
	}
	return fallingRoot(excess, lo, hi)
}
