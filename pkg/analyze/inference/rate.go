package inference

import (
	"fmt"
	"math"
)

// Rate estimates amounts per time, Σ amounts / Σ durations, such as output
// tokens per second: amount i came in duration i. It takes them either per
// completed request (its tokens, and the time since the completion before it)
// or per slice of the run (the tokens that arrived in each tenth of a second).
// Fewer than 30 of either give no interval.
//
// The standard error is the one of the average of amount − rate·duration. The interval is
// symmetric on the logarithmic scale. With fewer than 1000 values it is the interval of
// [Series.Mean], a fifth wider, and with fewer than 100 values twice as wide. Amounts and durations must be as many, finite and not
// negative.
func Rate(amounts, durations []float64) Estimate {
	n := len(amounts)
	if len(durations) != n {
		return unavailable(math.NaN(), n, fmt.Sprintf("%d amounts but %d durations", n, len(durations)))
	}
	var amount, duration float64
	for i := range n {
		for _, v := range [...]float64{amounts[i], durations[i]} {
			if !usable(v) || v < 0 {
				return unavailable(math.NaN(), n, fmt.Sprintf("value %d is %v", i, v))
			}
		}
		amount += amounts[i]
		duration += durations[i]
	}
	if !(duration > 0) {
		return unavailable(math.NaN(), n, "no time passed")
	}
	rate := amount / duration
	if n < minShortRate {
		e := unavailable(rate, n, fmt.Sprintf("%d values, a rate wants %d", n, minShortRate))
		e.NA.Needs = minShortRate
		return e
	}
	if n < minRate && amount > 0 {
		return shortRate(amounts, durations, rate)
	}
	residuals := make([]float64, n)
	for i := range residuals {
		residuals[i] = amounts[i] - rate*durations[i]
	}
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
// which is the rate, and whose relative error is the relative error of the rate.
func shortRate(amounts, durations []float64, rate float64) Estimate {
	n := len(amounts)
	mean := 0.0
	for _, a := range amounts {
		mean += a / float64(n)
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = rate * (1 + (amounts[i]-rate*durations[i])/mean)
	}
	s := newSeries(x, "values")
	s.widen = widenedRate
	if n < fewForRate {
		s.widen = doubledRate
	}
	e := s.Mean()
	if e.EffectiveN == 0 { // no spread, or out of range
		return unavailable(rate, n, e.NA.Reason)
	}
	e.Value = rate
	return e
}
