package diff

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// withinLevel is the level of [inference.Comparison.Within].
const withinLevel = 0.90

// judge adjusts the p-values of the primary metrics and gives the verdicts. One level is a family;
// for several levels see judgeTogether.
func (res *Result) judge() {
	if res.Together != nil {
		res.judgeTogether()
	} else {
		res.judgeFamily(res.Levels, alpha, func(*Row) bool { return true })
	}
	for _, l := range res.allLevels() {
		for _, r := range l.Rows {
			if r.Primary {
				r.Verdict = res.verdict(l, r)
			}
			// Each renderer shows the intervals, and finding their ends takes searches.
			r.shown = new(r.Interval(r.Level))
			r.bound = r.Within()
		}
		res.spoilDrifting(l)
	}
}

// allLevels returns the levels, after Together if there is one.
func (res *Result) allLevels() []*LevelDiff {
	if res.Together == nil {
		return res.Levels
	}
	return append([]*LevelDiff{res.Together}, res.Levels...)
}

// judgeFamily adjusts the p-values of some primary metrics as one family that may find something wrong
// with the probability at. A row of an earlier family keeps the smaller adjusted p-value.
func (res *Result) judgeFamily(levels []*LevelDiff, at float64, in func(*Row) bool) {
	var family []*Row
	var tests []inference.Test
	for _, l := range levels {
		for _, r := range l.Rows {
			if r.Primary && r.Metric.of != failedShare && in(r) {
				family = append(family, r)
				tests = append(tests, res.test(l, r))
			}
		}
	}
	adjusted, confidences := inference.Adjust(tests, at)
	for i, r := range family {
		p := math.Min(1, adjusted[i]*alpha/at)
		switch {
		case math.IsNaN(p):
		case math.IsNaN(r.Adjusted):
			res.Family++
			r.Adjusted, r.Level = p, confidences[i]
		case p < r.Adjusted:
			r.Adjusted, r.Level = p, confidences[i]
		}
	}
}

// test returns the test of a primary metric. Values of runs are given only for levels that every
// run has, because the values of several levels must be of the same runs.
func (res *Result) test(l *LevelDiff, r *Row) inference.Test {
	t := inference.Test{P: r.P}
	switch {
	case r.Spoiled != "" || r.NA.Missing():
		t.P = math.NaN()
	case !res.Single && len(l.Old) == len(res.Old) && len(l.New) == len(res.New):
		t.Older, t.Newer = r.OldRuns, r.NewRuns
	}
	return t
}

// verdict judges a primary metric by its adjusted p-value.
func (res *Result) verdict(l *LevelDiff, r *Row) inference.Verdict {
	switch {
	case r.Spoiled != "" || res.refused:
		return inference.NotAvailable
	case r.Metric.of == failedShare:
		v, p := l.failures.verdict()
		r.Adjusted = p
		return v
	case r.Equal:
		return inference.NoDifference
	}
	direction := r.Metric.Direction
	if res.Single {
		direction = inference.NoDirection // two runs differ, whatever their settings
	}
	if r.NA.Missing() && r.steady && !math.IsNaN(r.Change) {
		return (&inference.Comparison{Change: r.Change}).Verdict(0, alpha, direction)
	}
	return r.Comparison.Verdict(r.Adjusted, alpha, direction)
}

// repeats reports whether all values of both sides are the same, and whether each side repeats one value
// so often that the difference of the two cannot be chance.
func (l *LevelDiff) repeats(r *Row) (equal, steady bool) {
	q := r.Metric.of
	if q >= seriesQuantities && len(r.OldRuns) == 1 && len(r.NewRuns) == 1 || q == failedShare {
		return false, false
	}
	const least = 4 // of each side: they divide into two constant sides by chance in 2 of 70 ways
	constant := func(levels []*RunLevel, runs []float64) (value float64, n int, ok bool) {
		if len(runs) == 1 && len(l.Old)+len(l.New) == 2 {
			return runs[0], levels[0].n[q], levels[0].same[q]
		}
		for _, v := range runs {
			if v != runs[0] {
				return 0, 0, false
			}
		}
		return runs[0], len(runs), true
	}
	o, oldN, oldOK := constant(l.Old, r.OldRuns)
	n, newN, newOK := constant(l.New, r.NewRuns)
	if !oldOK || !newOK || math.IsNaN(o) || math.IsNaN(n) || min(oldN, newN) < 2 {
		return false, false
	}
	return o == n, min(oldN, newN) >= least
}

// within reports whether an interval lies within a margin on both sides; the margin of a decrease is the
// inverse of the margin of an increase.
func within(i inference.Interval, margin float64) bool {
	return i.Low > 1/(1+margin)-1 && i.High < margin
}

// inMargin reports whether the change of the metric was shown to be less than the margin.
func (r *Row) inMargin() bool { return r.Equal || within(r.bound, r.margin) }

// reach returns the largest change that an interval contains, in either direction, as a ratio above 0.
func reach(i inference.Interval) float64 { return math.Max(i.High, 1/(1+i.Low)-1) }

// badEnds turns an interval so that changes above 0 are for the worse.
func (m *Metric) badEnds(i inference.Interval) inference.Interval {
	if m.Direction == inference.HigherIsBetter {
		return inference.Interval{Low: 1/(1+i.High) - 1, High: 1/(1+i.Low) - 1}
	}
	return i
}

// row returns the row of the metric with a key; nil without one.
func (l *LevelDiff) row(key string) *Row {
	for _, r := range l.Rows {
		if r.Metric.Key == key {
			return r
		}
	}
	return nil
}
