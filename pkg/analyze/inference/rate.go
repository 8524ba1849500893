package inference

import (
	"fmt"
	"math"
)

// Rate estimates amounts per time, Σ amounts / Σ durations, such as output
// tokens per second: amount i came in duration i. It takes them either per
// completed request (its tokens, and the time since the completion before it)
// or per slice of the run (the tokens that arrived in each tenth of a second).
// Fewer than 1000 of either give no interval.
//
// It uses the standard error of the average of amount − rate·duration. The interval is
// symmetric on the logarithmic scale. Amounts and durations must be as many,
// finite and not negative.
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
	residuals := make([]float64, n)
	for i := range residuals {
		residuals[i] = amounts[i] - rate*durations[i]
	}
	e := newSeries(residuals, "values").mean(false)
	if e.EffectiveN == 0 { // no spread, or out of range
		return unavailable(rate, n, e.NA.Reason)
	}
	e.NA = shortOfRate(e.NA, n)
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
