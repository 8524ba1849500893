package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
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
func (res *Result) allLevels() []*LevelResult {
	if res.Together == nil {
		return res.Levels
	}
	return append([]*LevelResult{res.Together}, res.Levels...)
}

// judgeFamily adjusts the p-values of some primary metrics as one family that may find something wrong
// with the probability at. A row of an earlier family keeps the smaller adjusted p-value.
func (res *Result) judgeFamily(levels []*LevelResult, at float64, in func(*Row) bool) {
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
func (res *Result) test(l *LevelResult, r *Row) inference.Test {
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
func (res *Result) verdict(l *LevelResult, r *Row) inference.Verdict {
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
func (l *LevelResult) repeats(r *Row) (equal, steady bool) {
	q := r.Metric.of
	if q >= seriesQuantities && len(r.OldRuns) == 1 && len(r.NewRuns) == 1 || q == failedShare {
		return false, false
	}
	const least = 4 // of each side: they divide into two constant sides by chance in 2 of 70 ways
	constant := func(levels []*Level, runs []float64) (value float64, n int, ok bool) {
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

// together compares the judged metrics over all levels of a sweep, nil if that is not possible. A run's
// value is the geometric mean of its values at the levels, so that its change is the average change, and
// runs are the units as they are at one level.
func (res *Result) together() *LevelResult {
	if res.Single || len(res.Levels) < 2 {
		return nil
	}
	all := &LevelResult{Name: fmt.Sprintf("all %d levels", len(res.Levels)), sides: res.o.Sides, oldRuns: res.Old, newRuns: res.New}
	switch {
	case len(res.OldOnly)+len(res.NewOnly) > 0:
		all.Name = fmt.Sprintf("the %d levels in common", len(res.Levels))
	case len(res.Levels) == 2:
		all.Name = "both levels"
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
func (res *Result) togetherRow(all *LevelResult, m *Metric) *Row {
	r := &Row{Metric: m, Primary: true, Adjusted: math.NaN(), Level: confidence, margin: res.o.margin()}
	var older, newer [][]float64
	some := false
	for _, l := range res.Levels {
		at := l.row(m)
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
		if r := l.row(m); r != nil && !r.NA.Missing() {
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
	return all
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
	res.judgeFamily([]*LevelResult{res.Together}, half, every)
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
		if r := l.row(m); r != nil && r.P < least {
			name, least = sanitize.Text(l.Name), r.P
		}
	}
	return name
}

// row returns the row of a metric; nil without one.
func (l *LevelResult) row(m *Metric) *Row {
	for _, r := range l.Rows {
		if r.Metric == m {
			return r
		}
	}
	return nil
}

// apart says how the runs of two sides follow each other in time.
type apart uint8

const (
	unknownTurns apart = iota // a side has one run, or a run has no start time
	inTurn                    // runs of both sides alternate, or nearly so
	oneByOne                  // most runs of one side come before the runs of the other side
)

// String returns the value in JSON; "" if the order is not known.
func (a apart) String() string {
	return [...]string{unknownTurns: "", inTurn: "in-turn", oneByOne: "one-side-after-the-other"}[a]
}

// turns finds how the runs of two sides follow each other.
func (res *Result) turns() apart {
	if min(len(res.Old), len(res.New)) < 2 {
		return unknownTurns
	}
	place := res.places(slices.Concat(res.Old, res.New))
	if place == nil {
		return unknownTurns
	}
	o, n := mean(place[:len(res.Old)]), mean(place[len(res.Old):])
	// The distance of the average places is 1 for sides that do not overlap, and 1/k for k
	// runs a side that alternate.
	const overlap = 0.6
	if math.Abs(o-n) > overlap*float64(len(place))/2 {
		return oneByOne
	}
	return inTurn
}

// places returns the place of each run in the order of the starts of all; nil if a start is not known.
func (res *Result) places(runs []*Run) []float64 {
	order := make([]int, len(runs))
	starts := make([]uint64, len(runs))
	for i, r := range runs {
		ns, ok := r.Start()
		if !ok {
			return nil
		}
		order[i], starts[i] = i, ns
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(starts[a], starts[b]) })
	place := make([]float64, len(runs))
	for at, i := range order {
		place[i] = float64(at)
	}
	return place
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// A drift is the line that both sides follow from run to run, as the slope that fits both of them
// (analysis of covariance). It is on the scale of ln(value).
type drift struct {
	slope, slopeSE float64
	difference, se float64 // of the sides at the same time
	df             float64
}

// driftOf fits a drift to the values of two sides. ok is false if the values have none.
func driftOf(older, newer, olderAt, newerAt []float64) (d drift, ok bool) {
	var at, y [2]float64
	xx, xy, yy := 0.0, 0.0, 0.0
	for side, values := range [...][]float64{older, newer} {
		times := [...][]float64{olderAt, newerAt}[side]
		logs := make([]float64, len(values))
		for i, v := range values {
			if !(v > 0) || math.IsInf(v, 0) {
				return drift{}, false
			}
			logs[i] = math.Log(v)
		}
		at[side], y[side] = mean(times), mean(logs)
		for i := range logs {
			xx += (times[i] - at[side]) * (times[i] - at[side])
			xy += (times[i] - at[side]) * (logs[i] - y[side])
			yy += (logs[i] - y[side]) * (logs[i] - y[side])
		}
	}
	d.df = float64(len(older) + len(newer) - 3)
	if !(d.df > 0) || !(xx > 0) || !(yy > 0) {
		return drift{}, false
	}
	d.slope = xy / xx
	variance := math.Max(0, yy-xy*xy/xx) / d.df
	d.slopeSE = math.Sqrt(variance / xx)
	d.difference = y[1] - y[0] - d.slope*(at[1]-at[0])
	d.se = math.Sqrt(variance * (1/float64(len(older)) + 1/float64(len(newer)) + (at[1]-at[0])*(at[1]-at[0])/xx))
	return d, true
}

// p returns the two-sided p-value of no drift.
func (d *drift) p() float64 { return 2 * inference.StudentUpper(math.Abs(d.slope)/d.slopeSE, d.df) }

// interval returns the interval for the difference of the sides at the same time, as a ratio.
func (d *drift) interval(level float64) inference.Interval {
	half := inference.StudentQuantile(level, d.df) * d.se
	return inference.Interval{Low: math.Expm1(d.difference - half), High: math.Expm1(d.difference + half)}
}

// spoilDrifting takes the verdicts from the metrics of a level that drift, where the sides did not take
// turns: a drift moves the side that was recorded later. A verdict stays if it would be the same for
// sides recorded at the same time.
func (res *Result) spoilDrifting(l *LevelResult) {
	if res.apart != oneByOne || len(l.oldRuns) < len(res.Old) || len(l.newRuns) < len(res.New) {
		return
	}
	place := res.places(slices.Concat(l.oldRuns, l.newRuns))
	if place == nil {
		return
	}
	for _, r := range l.Rows {
		if !r.Primary || r.Metric.of == failedShare || r.Verdict == inference.NotAvailable || r.Equal {
			continue
		}
		d, ok := driftOf(r.OldRuns, r.NewRuns, place[:len(l.oldRuns)], place[len(l.oldRuns):])
		if !ok || !(d.p() <= alpha) {
			continue
		}
		at := d.interval(r.Level)
		same := within(d.interval(withinLevel), r.margin)
		switch r.Verdict {
		case inference.Better, inference.Worse:
			same = at.Low > 0 && r.Change > 0 || at.High < 0 && r.Change < 0
		default:
			same = same && r.inMargin()
		}
		if !same {
			r.drifts, r.Verdict = true, inference.NotAvailable
			r.Spoiled = fmt.Sprintf("the sides did not take turns, and the runs of both drift (%s by %s %% from one to the next)", r.Metric.Name, sheet.Signed(math.Expm1(d.slope)))
		}
	}
}

// turnsLine says that the sides did not take turns; "" if they did.
func (res *Result) turnsLine() string {
	if res.apart != oneByOne || len(res.Refused()) > 0 {
		return ""
	}
	return "the sides did not take turns: a slow change of the machine looks like a difference; pa-record --interleave takes turns"
}
