package inference

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/internal/plural"
)

const (
	minRuns     = 3 // a side, for Welch's t
	minRankRuns = 6 // a side, for the rank test

	// With unequal numbers of runs, the smaller side needs enoughRuns, and the larger side may have
	// mostRuns times as many.
	enoughRuns  = 5
	mostRuns    = 2
	unequalPart = 0.25 // see DegreesOfFreedom
)

// Runs compares per-run values of several runs a side, such as each run's TTFT
// p99. The run is the unit: the values within a run do not matter, and the
// interval includes the difference between runs under the same settings. The
// runs of a side must be independent of each other and of the other side's;
// interleave the sides where the machine drifts.
//
// The values of the sides are geometric means, the interval is Welch's t on
// logarithms (Biometrika 34, 1947), from 3 runs a side. [DegreesOfFreedom]
// says where they are not Welch's. If a value is not positive, it has no logarithm, and there is
// no interval. From 6 runs a side there is also the rank test, which takes any
// finite values.
//
// Values that repeat come from a coarse clock or grid. The interval is then never
// narrower than half the smallest step between different values, to either side. If all
// runs of each side are equal, see [Comparison.Constant].
func Runs(older, newer []float64) Comparison {
	c := Welch(older, newer)
	rank := rankRuns(older, newer)
	c.Rank = &rank
	return c
}

// Welch compares per-run values as [Runs] does, without the rank test.
func Welch(older, newer []float64) Comparison {
	oldMean, oldSE := geometricMean(older)
	newMean, newSE := geometricMean(newer)
	c := compare(oldMean, newMean)
	if na := eitherNA(oldMean.NA, newMean.NA); na.Missing() {
		c.NA = na // says more than that a value is not positive
	}
	if c.NA.Missing() {
		return c
	}
	difference := math.Log(newMean.Value) - math.Log(oldMean.Value)
	resolution := halfStep(older, newer)
	if oldSE == 0 && newSE == 0 {
		c.Constant = true
		if allEqual([]float64{older[0], newer[0]}) {
			difference = 0 // without rounding
			c.Change = 0
		}
		c.P = separation(older, newer)
		c.pivot = separated(difference, resolution, c.P)
		return c
	}
	c.pivot = welch(difference, oldSE, float64(len(older)), newSE, float64(len(newer))).within(difference, resolution)
	c.P = c.pivot.pValue()
	return c
}

// Unbalanced reports whether two sides have numbers of runs so different that a comparison loses
// power by it: unequal numbers whose smaller one is below 5 or less than half of the larger.
// Equal numbers would be better.
func Unbalanced(older, newer int) bool {
	few, many := min(older, newer), max(older, newer)
	return few != many && (few < enoughRuns || many > mostRuns*few)
}

// welch returns the pivot of a difference of two averages with standard errors se over n
// values each. One standard error may be 0.
func welch(difference, se0, n0, se1, n1 float64) pivot {
	se := math.Hypot(se0, se1)
	return pivot{DegreesOfFreedom(square(se0/se), n0, square(se1/se), n1), func(t float64) Interval {
		return Interval{difference - t*se, difference + t*se}
	}}
}

// DegreesOfFreedom returns the degrees of freedom with which [Welch] compares two sides of n0 and n1
// runs. The variance of their difference is the sum of the variances of the sides' averages, as parts of 1.
//
// Few values that happen to agree make Welch's degrees of freedom too many if the other side has
// more values. The degrees of freedom are then at most what they are for equal deviations, and a
// quarter of the way nearer to the degrees of freedom of the smaller side, below which they never
// are (Mickey and Brown, Annals of Mathematical Statistics 37, 1966).
//
// Three values a side say nearly nothing about which side deviates more. Each variance is then
// taken halfway to their average, for the degrees of freedom only: between 3.2 and 4, where Welch's
// are between 2 and 4.
func DegreesOfFreedom(part0, n0, part1, n1 float64) float64 {
	if n0 == minRuns && n1 == minRuns {
		part0, part1 = (part0+0.5)/2, (part1+0.5)/2
	}
	df := satterthwaite(part0, n0, part1, n1)
	if n0 != n1 {
		df = math.Min(df, satterthwaite(n1/(n0+n1), n0, n0/(n0+n1), n1))
		df -= (df - (math.Min(n0, n1) - 1)) * unequalPart
	}
	return df
}

// satterthwaite returns the degrees of freedom of the sum of the variances of two averages over n
// values each, as parts of the sum (Biometrics Bulletin 2, 1946).
func satterthwaite(part0, n0, part1, n1 float64) float64 {
	return 1 / (square(part0)/(n0-1) + square(part1)/(n1-1))
}

// within returns a pivot whose ends are at least resolution away from the center. Where the
// interval is much wider, it hardly changes.
func (p pivot) within(center, resolution float64) pivot {
	if resolution == 0 {
		return p
	}
	return pivot{p.df, func(t float64) Interval {
		ends := p.ends(t)
		return Interval{center - math.Hypot(center-ends.Low, resolution), center + math.Hypot(ends.High-center, resolution)}
	}}
}

// halfStep returns half the smallest step between different values on the logarithmic scale, if
// some of the positive values are equal; otherwise 0, because the values then show no grid.
func halfStep(older, newer []float64) float64 {
	all := slices.Sorted(slices.Values(slices.Concat(older, newer)))
	step, repeat := math.Inf(1), false
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			repeat = true
		} else {
			step = math.Min(step, math.Log(all[i])-math.Log(all[i-1]))
		}
	}
	if !repeat || math.IsInf(step, 1) {
		return 0
	}
	return step / 2
}

// separation returns the p-value of sides of constant values: 1 if both sides have the same value,
// otherwise the probability that a random division of the values into the two sides separates them,
// in either direction.
func separation(older, newer []float64) float64 {
	if older[0] == newer[0] {
		return 1
	}
	ways := new(big.Int).Binomial(int64(len(older)+len(newer)), int64(len(older)))
	count, _ := new(big.Float).SetInt(ways).Float64()
	return 2 / count
}

// separated returns the pivot of a difference between two constants with this p-value: as precise
// as the resolution, up to the level that the number of runs allows, and unbounded above.
func separated(difference, resolution, p float64) pivot {
	most := math.Inf(1)
	if p < 1 {
		most = StudentQuantile(1-p, math.Inf(1)) * (1 + 1e-9)
	}
	return pivot{math.Inf(1), func(t float64) Interval {
		if t > most {
			return Interval{math.Inf(-1), math.Inf(1)}
		}
		return Interval{difference - resolution, difference + resolution}
	}}
}

// GeometricMean estimates the geometric mean of per-run values of one side, as [Runs]
// does. Its interval is Student's t on logarithms, from 3 runs.
func GeometricMean(values []float64) Estimate {
	e, _ := geometricMean(values)
	return e
}

// geometricMean estimates the geometric mean of per-run values, and returns
// the standard error of its logarithm.
func geometricMean(values []float64) (e Estimate, logSE float64) {
	n := len(values)
	logs := make([]float64, n)
	for i, v := range values {
		if !usable(v) || v <= 0 {
			return unavailable(math.NaN(), n, fmt.Sprintf("run %d has %v, which has no usable logarithm", i+1, v)), 0
		}
		logs[i] = math.Log(v)
	}
	if n == 0 {
		e = unavailable(math.NaN(), n, "no runs")
		e.NA.Needs = minRuns
		return e, 0
	}
	mean, _ := stats.Mean(logs) // its only error is that there are no values
	e = Estimate{Value: math.Exp(mean), N: n, EffectiveN: float64(n)}
	if n < minRuns {
		e.NA = NA{Reason: "only " + plural.Of(n, "run"), Needs: minRuns}
		return e, 0
	}
	deviation, _ := stats.StandardDeviationSample(logs)
	logSE = deviation / math.Sqrt(float64(n))
	if allEqual(values) { // both may be off by rounding
		logSE, e.Value = 0, values[0]
	}
	value := e.Value
	e.pivot = pivot{float64(n - 1), func(t float64) Interval {
		return Interval{value * math.Exp(-t*logSE), value * math.Exp(t*logSE)}
	}}
	return e, logSE
}

func allEqual(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// MeanOfRuns returns the geometric mean of per-run values; the arithmetic mean if a value is
// not above 0; NaN without values or if a value is NaN.
func MeanOfRuns(values []float64) float64 {
	if len(values) == 1 { // exactly, without rounding
		return values[0]
	}
	summary := stats.GeometricMean
	if slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) }) {
		summary = stats.Mean
	}
	mean, _ := summary(values) // NaN without values
	return mean
}
