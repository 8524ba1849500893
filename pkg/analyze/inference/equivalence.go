package inference

import "math"

const (
	withinLevel = 0.90 // of the interval for two one-sided tests at 5 %
	withinPower = 0.80 // of [RunsForEquivalence]
)

// Within returns the interval for the question whether the change is within a margin: the
// unadjusted 90 % interval. The change is shown to be within a margin if both ends are, because
// each end is a one-sided test at 5 % (Schuirmann, Journal of Pharmacokinetics and
// Biopharmaceutics 15, 1987). If all metrics must be within the margin, no adjustment for their
// number is needed (Berger, Technometrics 24, 1982).
func (c *Comparison) Within() Interval { return c.Interval(withinLevel) }

// RunsForEquivalence returns how many runs a side are enough to show that there is no difference
// of the margin or more, if there is none: in 80 of 100 comparisons. deviation is the standard
// deviation of ln(value) from run to run, margin a ratio like [Comparison.Change]. The number is
// the smallest k of at least 3 with
//
//	k ≥ 2·(t₀.₉₅ + t₀.₉₀)²·deviation²/ln(1 + margin)²,
//
// where t are quantiles of Student's distribution with 2k − 2 degrees of freedom. It is 0 if no
// number is enough, or more than some ten millions.
func RunsForEquivalence(deviation, margin float64) int {
	const most = 1e6
	effect := square(deviation / math.Log1p(margin))
	if !(margin > 0) || !(deviation >= 0) || !(effect <= most) {
		return 0
	}
	// Level and power are the probabilities between −t and t.
	enough := func(df float64) float64 {
		return math.Ceil(2 * square(StudentQuantile(withinLevel, df)+StudentQuantile(withinPower, df)) * effect)
	}
	// With infinitely many degrees of freedom, k is a little too small.
	k := math.Max(minRuns, enough(math.Inf(1)))
	for k < enough(2*k-2) {
		k++
	}
	return int(k)
}
