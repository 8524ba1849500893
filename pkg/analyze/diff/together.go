package diff

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// together compares the judged metrics over all levels of a sweep, nil if that is not possible. A run's
// value is the geometric mean of its values at the levels, so that its change is the average change, and
// runs are the units as they are at one level.
func (res *Result) together() *LevelDiff {
	if res.Single || len(res.Levels) < 2 {
		return nil
	}
	all := &LevelDiff{Name: plural.All(len(res.Levels)) + " levels", sides: res.o.Sides}
	if len(res.OldOnly)+len(res.NewOnly) > 0 {
		all.Name = fmt.Sprintf("the %d levels in common", len(res.Levels))
	}
	all.failures = failures{known: true, tests: 2}
	for _, l := range res.Levels {
		if len(l.Old) < len(res.Old) || len(l.New) < len(res.New) {
			return nil
		}
		all.failures.known = all.failures.known && l.failures.known
		all.failures.older = addCounts(all.failures.older, l.failures.older)
		all.failures.newer = addCounts(all.failures.newer, l.failures.newer)
	}
	all.Old, all.New = res.Levels[0].Old, res.Levels[0].New
	for _, m := range Metrics {
		if res.o.judges(m) {
			if r := res.togetherRow(all, m); r != nil {
				all.Rows = append(all.Rows, r)
			}
		}
	}
	return all
}

func addCounts(to, from []count) []count {
	if to == nil {
		return slices.Clone(from)
	}
	for i := range to {
		to[i] = to[i].plus(from[i])
	}
	return to
}

// togetherRow compares a metric over all levels; nil if no level has it.
func (res *Result) togetherRow(all *LevelDiff, m *Metric) *Row {
	r := &Row{Metric: m, Primary: true, Adjusted: math.NaN(), Level: confidence, margin: res.o.margin()}
	var older, newer [][]float64
	some := false
	for _, l := range res.Levels {
		at := l.row(m.Key)
		if at == nil || !at.Primary {
			continue
		}
		some = true
		older, newer = append(older, at.OldRuns), append(newer, at.NewRuns)
		switch { // the first level that has no answer leaves none to all of them
		case m.of == failedShare:
		case at.NA.Missing() && !r.NA.Missing() && !at.steady:
			r.NA = inference.NA{Reason: at.NA.Reason + " at " + sanitize.Text(l.Name), Needs: at.NA.Needs}
		case at.Spoiled != "" && r.Spoiled == "":
			r.Spoiled = at.Spoiled + " at " + sanitize.Text(l.Name)
		}
	}
	if !some {
		return nil
	}
	if m.of == failedShare {
		r.OldRuns, r.NewRuns = shares(all.failures.older), shares(all.failures.newer)
		all.countFailures(r)
		return r
	}
	r.OldRuns, r.NewRuns = meanOverLevels(older), meanOverLevels(newer)
	if r.NA.Missing() {
		all.bare(r, r.NA)
		return r
	}
	r.Comparison = inference.Runs(r.OldRuns, r.NewRuns)
	r.Equal, r.steady = all.repeats(r)
	return r
}

func shares(runs []count) []float64 {
	var all []float64
	for _, c := range runs {
		all = append(all, c.share())
	}
	return all
}

// meanOverLevels returns the geometric mean of each run's values at the levels.
func meanOverLevels(levels [][]float64) []float64 {
	means := make([]float64, len(levels[0]))
	values := make([]float64, len(levels))
	for run := range means {
		for i, l := range levels {
			values[i] = l[run]
		}
		if slices.ContainsFunc(values, func(v float64) bool { return v != values[0] }) {
			means[run] = inference.MeanOfRuns(values)
		} else {
			means[run] = values[0] // without rounding, so that equal runs stay equal
		}
	}
	return means
}

// A special is a level at which a metric changed by more or less than at the other levels.
type special struct {
	metric *Metric
	level  string
	change float64
	more   bool // the change is farther in the direction of the change over all levels
}

// specials finds the levels whose change in a metric, which changed over all levels, differs from the
// change at the other levels. For each level it compares, run by run, the value at the level divided by
// the mean of the values at the other levels. Of the levels whose p-values are at most at for all levels
// together, it takes away the one whose change is farthest from the others, and begins again with the
// others, which would otherwise differ from the mean with that level.
func (res *Result) specials(m *Metric, at float64) []special {
	var rows []*Row
	var names []string
	for _, l := range res.Levels {
		if r := l.row(m.Key); r != nil && !r.NA.Missing() {
			rows, names = append(rows, r), append(names, sanitize.Text(l.Name))
		}
	}
	var all []special
	for len(rows) > 1 {
		tests := len(rows)
		if tests == 2 { // the other level says the same
			tests = 1
		}
		first, farthest, more := -1, 0.0, false
		for i := range rows {
			c := againstOthers(rows, i)
			if far := math.Abs(math.Log1p(c.Change)); c.P*float64(tests) <= at && (first < 0 || far > farthest) {
				first, farthest, more = i, far, c.Change > 0
			}
		}
		if first < 0 {
			break
		}
		all = append(all, special{metric: m, level: names[first], change: rows[first].Change, more: more})
		rows, names = slices.Delete(rows, first, first+1), slices.Delete(names, first, first+1)
	}
	if all != nil {
		r := &Row{Metric: m, Comparison: overLevels(rows)}
		res.others95 = append(res.others95, r.point()+" "+r.span(r.Interval(confidence)))
	}
	return all
}

// overLevels compares the mean of a metric over levels.
func overLevels(rows []*Row) inference.Comparison {
	var older, newer [][]float64
	for _, r := range rows {
		older, newer = append(older, r.OldRuns), append(newer, r.NewRuns)
	}
	return inference.Runs(meanOverLevels(older), meanOverLevels(newer))
}

// againstOthers compares a row's values, divided by the mean of the values at the other levels.
func againstOthers(rows []*Row, i int) inference.Comparison {
	var older, newer [][]float64
	for j, r := range rows {
		if j != i {
			older, newer = append(older, r.OldRuns), append(newer, r.NewRuns)
		}
	}
	ratio := func(values []float64, others [][]float64) []float64 {
		means := meanOverLevels(others)
		var all []float64
		for run, v := range values {
			all = append(all, v/means[run])
		}
		return all
	}
	return inference.Welch(ratio(rows[i].OldRuns, older), ratio(rows[i].NewRuns, newer))
}

// judgeTogether judges the metrics over all levels and at each level. Two families share the
// probability of a false finding: the metrics over all levels, and all metrics at all levels. The levels of
// the metrics that changed over all levels are then a family of their own (Marcus, Peritz and Gabriel,
// Biometrika 63, 1976).
func (res *Result) judgeTogether() {
	const half = alpha / 2
	every := func(*Row) bool { return true }
	res.judgeFamily([]*LevelDiff{res.Together}, half, every)
	res.judgeFamily(res.Levels, half, every)
	var found []*Row
	for _, r := range res.Together.Rows {
		if r.Metric.of != failedShare && r.Adjusted <= alpha && r.Spoiled == "" && !r.NA.Missing() {
			found = append(found, r)
		}
	}
	res.judgeFamily(res.Levels, alpha, func(x *Row) bool {
		return slices.ContainsFunc(found, func(r *Row) bool { return x.Metric == r.Metric })
	})
	for _, r := range found {
		res.special = append(res.special, res.specials(r.Metric, alpha/float64(len(found)))...)
		r.surest = res.surest(r.Metric)
	}
}

// surest returns the name of the level at which the change of a metric is surest; "" if no level differs.
func (res *Result) surest(m *Metric) string {
	name, least := "", math.Inf(1)
	for _, l := range res.Levels {
		if r := l.row(m.Key); r != nil && r.P < least {
			name, least = sanitize.Text(l.Name), r.P
		}
	}
	return name
}
