package inference

import (
	"math"

	"github.com/pa-tools/pa/internal/stat"
)

// A Comparison is the change of a statistic from the old side to the new one.
type Comparison struct {
	Old, New Estimate

	// Change is new/old − 1: 0.05 for five percent more. It needs no interval, only
	// two positive values; otherwise it is NaN.
	Change float64

	// P is the two-sided p-value of "no change": 1 minus the highest level
	// whose interval leaves out 0. NaN if there is no interval.
	P float64

	// Constant says that all values of a side are equal, on both sides. For several runs, P is then
	// the p-value of a permutation test: 1 if both sides have the same value, else
	// 2/C(n, k), for k of n runs on one side. An interval at a level above 1 − P has infinite
	// ends, because so few runs cannot show more.
	Constant bool

	// Rank is the rank test beside it for several runs a side, otherwise nil.
	Rank *RankTest

	// NA says why there is no interval and no P.
	NA NA

	pivot pivot // on the scale of ln(new/old)
}

// Interval returns the confidence interval for the change at the given level,
// such as 0.95, as ratios like Change.
func (c *Comparison) Interval(level float64) Interval {
	if c.NA.Missing() {
		return none()
	}
	log := c.pivot.at(level)
	return Interval{math.Expm1(log.Low), math.Expm1(log.High)}
}

// Change compares a statistic of one run a side. The result holds for these two
// runs only: it does not include how much runs under the same settings differ.
//
// With l = ln(value) and the ends L and U of each side's own interval on that
// scale, the interval for the change reaches
//
//	below ln(new/old) by √((l_new − L_new)² + (U_old − l_old)²),
//	above ln(new/old) by √((U_new − l_new)² + (l_old − L_old)²),
//
// all at the same t (Zou and Donner, Statistics in Medicine 27, 2008). For
// symmetric intervals this is Welch's method. The degrees of freedom are Welch's,
// at most 32, which is twice the number of a side.
//
// Two series of constants that differ are surely different; the interval reaches from
// half of their ratio to half beyond it on that scale, because their clock may be coarse.
func Change(older, newer Estimate) Comparison {
	older, newer = alike(older, newer)
	c := compare(older, newer)
	if !c.NA.Missing() {
		c.NA = eitherNA(older.NA, newer.NA)
	}
	if c.NA.Missing() {
		return c
	}
	oldLog, newLog := onLogScale(older), onLogScale(newer)
	center := math.Log(newer.Value) - math.Log(older.Value)
	if older.constant && newer.constant {
		c.Constant = true
		if older.Value == newer.Value {
			center = 0
		}
		c.pivot = separated(center, math.Abs(center)/2, 0)
		c.P = c.pivot.pValue()
		return c
	}
	c.pivot = pivot{welchDF(older.pivot, oldLog, newer.pivot, newLog), func(t float64) Interval {
		o, n := oldLog(t), newLog(t)
		return Interval{center - math.Hypot(n.below, o.above), center + math.Hypot(n.above, o.below)}
	}}
	c.P = c.pivot.pValue()
	return c
}

// compare returns a comparison with everything that needs no interval.
func compare(older, newer Estimate) Comparison {
	c := Comparison{Old: older.kept(), New: newer.kept(), Change: math.NaN(), P: math.NaN()}
	if older.Value > 0 && newer.Value > 0 {
		c.Change = newer.Value/older.Value - 1
	} else {
		c.NA = NA{Reason: "a ratio needs positive values"}
	}
	return c
}

// EitherSide begins the reason of an [NA] that is the same for both sides of a comparison.
const EitherSide = "either side: "

// eitherNA returns why one or both sides have no interval; its Needs is enough for
// both.
func eitherNA(older, newer NA) NA {
	switch {
	case older.Missing() && older.Reason == newer.Reason:
		return NA{Reason: EitherSide + older.Reason, Needs: max(older.Needs, newer.Needs)}
	case older.Missing() && newer.Missing():
		return NA{
			Reason: "old: " + older.Reason + "; new: " + newer.Reason,
			Needs:  max(older.Needs, newer.Needs),
		}
	case older.Missing():
		return NA{Reason: "old: " + older.Reason, Needs: older.Needs}
	case newer.Missing():
		return NA{Reason: "new: " + newer.Reason, Needs: newer.Needs}
	default:
		return NA{}
	}
}

// A reach is how far the two ends of an interval are from the estimate.
type reach struct{ below, above float64 }

// onLogScale returns how far the ends of an estimate's intervals are from its
// positive value on the logarithmic scale.
func onLogScale(e Estimate) func(t float64) reach {
	l := math.Log(e.Value)
	return func(t float64) reach {
		ends := e.pivot.ends(t)
		// An end at or below 0 bounds nothing: its logarithm is −∞.
		return reach{l - math.Log(math.Max(0, ends.Low)), math.Log(ends.High) - l}
	}
}

// welchDF returns the degrees of freedom of the difference by Welch and
// Satterthwaite, from the widths at the sides' own 95 % level.
func welchDF(older pivot, oldLog func(float64) reach, newer pivot, newLog func(float64) reach) float64 {
	variance := func(p pivot, log func(float64) reach) float64 {
		t := StudentQuantile(0.95, p.df)
		r := log(t)
		return square((r.below + r.above) / (2 * t))
	}
	o, n := variance(older, oldLog), variance(newer, newLog)
	df := square(o+n) / (square(o)/older.df + square(n)/newer.df)
	if !stat.Finite(df) { // unbounded, or no width at all
		return math.Min(older.df, newer.df)
	}
	return df
}
