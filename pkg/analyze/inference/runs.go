package inference

import (
	"fmt"
	"math"
	"slices"

	"github.com/montanaflynn/stats"
)

const (
	minRuns     = 3 // a side, for Welch's t
	minRankRuns = 6 // a side, for the rank test
)

// Runs compares per-run values of several runs a side, such as each run's TTFT
// p99. The run is the unit: the values within a run do not matter, and the
// interval includes the difference between runs under the same settings. The
// runs of a side must be independent of each other and of the other side's;
// interleave the sides where the machine drifts.
//
// The values of the sides are geometric means, the interval is Welch's t on
// logarithms (Biometrika 34, 1947), from 3 runs a side. If a value is not
// positive, it has no logarithm, and there is no interval. From 6 runs a side
// there is also the rank test, which takes any finite values.
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
	if oldSE == 0 && newSE == 0 && !c.NA.Missing() {
		c.NA = NA{Reason: "no run differs from the others of its side"}
	}
	if c.NA.Missing() {
		return c
	}
	c.pivot = welch(math.Log(newMean.Value)-math.Log(oldMean.Value), oldSE, float64(len(older)), newSE, float64(len(newer)))
	c.P = c.pivot.pValue()
	return c
}

// welch returns the pivot of a difference of two averages with standard errors se over n
// values each. One standard error may be 0.
func welch(difference, se0, n0, se1, n1 float64) pivot {
	se := math.Hypot(se0, se1)
	// With the errors as parts of the whole, small ones do not underflow.
	part0, part1 := square(se0/se), square(se1/se)
	return pivot{1 / (square(part0)/(n0-1) + square(part1)/(n1-1)), func(t float64) Interval {
		return Interval{difference - t*se, difference + t*se}
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
		e.NA = NA{Reason: fmt.Sprintf("%d of %d runs", n, minRuns), Needs: minRuns}
		return e, 0
	}
	deviation, _ := stats.StandardDeviationSample(logs)
	logSE = deviation / math.Sqrt(float64(n))
	if allEqual(values) { // logSE may be off 0 by rounding
		logSE = 0
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
