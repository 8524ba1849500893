package diff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
)

// The confidence level of intervals, and the p-value at which there is a difference.
const (
	confidence = 0.95
	alpha      = 0.05
)

// Options are the settings of a comparison.
type Options struct {
	// Ignore names the differences that do not refuse the comparison, see [Refusals].
	Ignore []string
	// Primary names the metrics that have a verdict, by their keys; nil for the metrics
	// whose Primary is set. See [CheckPrimary].
	Primary []string
	// Pair says which levels are compared. Loads that differ then do not refuse the comparison.
	Pair levelpair.By
	// Quality says that the runs were read with Config.Quality.
	Quality bool
	// Sides are the names of the two sides.
	Sides Sides
	// Margin is the smallest change that matters, as a ratio; 0 means defaultMargin. The answer is
	// "no difference" only if every judged metric was shown to change by less.
	Margin float64
	// LeaveOut names runs that do not count.
	LeaveOut LeaveOut
	// SingleRun lets gates take a difference between two single runs for better or worse.
	SingleRun bool
	// InconclusiveFails says that a gate that cannot tell counts as failed.
	InconclusiveFails bool
}

// defaultMargin is the margin of a comparison whose Options have none.
const defaultMargin = 0.05

// margin returns the smallest change that matters.
func (o *Options) margin() float64 { return cmp.Or(o.Margin, defaultMargin) }

// Sides holds the names of the two sides of a comparison, for people and programs. The zero value
// names them old and new.
type Sides struct{ Old, New string }

// old returns the name of the side that is compared with.
func (s Sides) old() string { return cmp.Or(s.Old, "old") }

// new returns the name of the side whose differences are judged.
func (s Sides) new() string { return cmp.Or(s.New, "new") }

// A Result is a comparison.
type Result struct {
	Old, New []*Run
	// Single is set for one run a side: the result is about these two runs.
	Single bool
	// Differences are the differences in how the runs were made, also harmless ones.
	Differences []*Difference
	// Unchecked names the differences that would refuse the comparison and that
	// neither side has data for.
	Unchecked []string
	// Levels are the levels that both sides have; OldOnly and NewOnly name the others.
	Levels           []*LevelDiff
	OldOnly, NewOnly []string
	// Together compares the judged metrics over all levels: the value of a run is the geometric
	// mean of its values at the levels. It is nil for one level, for one run a side, and if a run
	// lacks a level.
	Together *LevelDiff
	// Answer is what the comparison says in a word. Headline says it in a sentence.
	Answer Answer
	// Outlying are the runs that differ from the others of their side.
	Outlying []Outlying
	// Without is the comparison without the outlying runs; nil if there are none, or if too few
	// runs would be left.
	Without *Result
	// LeftOut are the runs that Options.LeaveOut names.
	LeftOut []*Run
	// Family is the number of p-values that the verdicts were adjusted for.
	Family int
	Gates  []*GateResult
	// Warnings are about this comparison, not about the files.
	Warnings []string

	refused  bool     // some of Differences refuse the comparison
	others95 []string // changes over the levels without special, with 95 % intervals
	itself   string   // the warning about a run that is on both sides; "" for none
	o        Options
	numbers  map[*Run]string // "old.1"
	apart    apart           // whether the sides took turns
	special  []special       // levels that differ from the other levels
}

// Refused returns the differences that refuse the comparison.
func (r *Result) Refused() []*Difference { return refused(r.Differences) }

// refusedNames returns the names of the differences that refuse the comparison, each once.
func (r *Result) refusedNames() []string { return namesOf(r.Refused()) }

// A LevelDiff is the comparison of one load level.
type LevelDiff struct {
	Name  string // "concurrency 8"
	Mode  string
	Value string
	// Old and New are the level in each run that has it.
	Old, New []*RunLevel
	// Pairs is the number of prompts that both runs sent at the same place
	// and that both answered; 0 unless the runs are paired by prompt.
	Pairs int
	// Rows has the Metrics that either side has.
	Rows []*Row
	// Server has the figures of servers and GPUs that either side has.
	Server []*ServerRow

	// Answer is what the comparison says about the level, in a word.
	Answer Answer
	// Because says why Answer is CannotTell, and what would be enough; "" for other answers.
	Because string
	// Within is the largest change of a judged metric that an Answer of NoDifference leaves open.
	Within float64

	named        []*Metric // the metrics that Because names
	sides        Sides
	failures     failures
	unsteadyRuns string // see unsteady
}

// Unmeasured returns an error that names the levels with nothing to compare; nil if
// there are none. Failed requests are not enough.
func (r *Result) Unmeasured() error {
	var errs []error
	for _, l := range r.Levels {
		if why := l.nothing(); why != "" {
			errs = append(errs, fmt.Errorf("%s: nothing to compare: %s", sanitize.Text(l.Name), sanitize.Text(why)))
		}
	}
	return errors.Join(errs...)
}

// nothing returns why no metric of the level, but for the share of failed
// requests, has a value on both sides; "" where one has.
func (l *LevelDiff) nothing() string {
	why := ""
	for _, r := range l.Rows {
		switch {
		case r.Metric.of == failedShare:
			if l.begun() {
				why = cmp.Or(why, "no request succeeded")
			}
		case !math.IsNaN(r.Old.Value) && !math.IsNaN(r.New.Value):
			return ""
		default:
			why = cmp.Or(why, r.reason())
		}
	}
	return cmp.Or(why, "neither side has a request")
}

// begun reports whether some run has a request that counts or failed.
func (l *LevelDiff) begun() bool {
	return slices.ContainsFunc(slices.Concat(l.Old, l.New), func(x *RunLevel) bool { return x.OK+x.Failed > 0 })
}

// A Row is a metric of one level. Its Comparison has values even if its NA says that
// there is no interval.
type Row struct {
	Metric *Metric
	inference.Comparison
	// OldRuns and NewRuns are the values of each run; NaN for a run without one.
	OldRuns, NewRuns []float64
	// Paired is set if the change is the median over pairs of new/old − 1.
	Paired bool
	// Primary is set if the metric has a verdict.
	Primary bool
	// Adjusted is P adjusted for the family; NaN for metrics that are not primary.
	Adjusted float64
	// Verdict is NotAvailable for metrics that are not primary. For one run a side it is
	// never Better or Worse.
	Verdict inference.Verdict
	// Spoiled says why there is no verdict although there is an interval: a warning of the
	// recorder of one of the runs, or a drift from run to run; "" if there is none.
	Spoiled string
	// Equal is set if all values of both sides are the same.
	Equal bool
	// Level is the confidence level of Shown: 0.95, or as high as the verdict needs.
	Level float64

	shown  *inference.Interval // the interval at Level; nil before judge
	drifts bool                // Spoiled is about a drift from run to run
	margin float64
	bound  inference.Interval // see [inference.Comparison.Within]
	steady bool               // each side has one value, which it repeats
	surest string             // of [Result.Together]: the level with the smallest p-value
}

// Shown returns the interval for the change that the verdict rests on: it leaves out 0
// where a difference was found, and contains 0 elsewhere. Metrics that are not primary
// have their 95 % interval.
func (r *Row) Shown() inference.Interval {
	if r.shown != nil {
		return *r.shown
	}
	return r.Interval(r.Level)
}

// Compare compares two sides, each of at least one run. For one run a side, both must
// have been read with their Series.
func Compare(older, newer []*Run, o Options) *Result {
	older, newer, numbers, out := o.LeaveOut.apply(older, newer, o.Sides)
	res := compare(older, newer, o, numbers)
	res.LeftOut = out
	if len(res.Refused()) > 0 {
		return res
	}
	if res.Outlying = res.outlying(); len(res.Outlying) > 0 {
		res.Without = res.without()
	}
	res.answers()
	return res
}

// compare compares the runs that count.
func compare(older, newer []*Run, o Options, numbers map[*Run]string) *Result {
	res := compareSettings(older, newer, o)
	res.numbers = numbers
	res.apart = res.turns()
	if text := res.unequalRuns(); text != "" {
		res.Warnings = append(res.Warnings, text)
	}
	for _, l := range res.Levels {
		few := func(side string, n, total int) {
			if n < total {
				res.Warnings = append(res.Warnings, fmt.Sprintf("%s: only %d of %d %s runs %s this level", l.Name, n, total, side, plural.Form(n, "has", "have")))
			}
		}
		few(o.Sides.old(), len(l.Old), len(older))
		few(o.Sides.new(), len(l.New), len(newer))
		res.Warnings = append(res.Warnings, res.shortRuns(l)...)
	}
	for _, a := range res.Old {
		for _, b := range res.New {
			if a.sameAs(b) {
				res.itself = fmt.Sprintf("%s %s and %s %s hold the same run, which is compared with itself", o.Sides.old(), a.Name, o.Sides.new(), b.Name)
				res.Warnings = append(res.Warnings, res.itself)
			}
		}
	}
	for _, r := range slices.Concat(res.Old, res.New) {
		if r.store != nil && r.store.Full() != nil {
			res.Warnings = append(res.Warnings, fmt.Sprintf("%s: the values of the comparison take more memory than the limit: %v", r.Name, r.store.Full()))
		}
	}
	switch {
	case labeled(res.Old, o.Sides.new()):
		res.Warnings = append(res.Warnings, swapped(o.Sides.old(), o.Sides.new()))
	case labeled(res.New, o.Sides.old()):
		res.Warnings = append(res.Warnings, swapped(o.Sides.new(), o.Sides.old()))
	}
	for i := range res.Levels { // over all levels, and at each of them
		if n := len(res.Levels); n > 1 {
			res.Levels[i].failures.tests = 2 * n
		}
	}
	refused := strings.Join(res.refusedNames(), ", ")
	for _, l := range res.Levels {
		switch {
		case refused != "":
			res.values(l, "not comparable: "+refused)
			l.server("not comparable: " + refused)
		case res.Single:
			res.single(l)
			l.server("one run a side does not tell how they vary")
			l.jobs()
		default:
			res.several(l)
			l.server("")
		}
	}
	if refused == "" {
		res.Together = res.together()
	}
	res.judge()
	res.answers()
	return res
}

// unequalRuns returns a warning about numbers of runs that lose power; "" for others.
func (res *Result) unequalRuns() string {
	if res.Single || !inference.Unbalanced(len(res.Old), len(res.New)) {
		return ""
	}
	return fmt.Sprintf("%s has %s and %s %d: record equal numbers, because the smaller side decides what can be found",
		res.o.Sides.old(), plural.Of(len(res.Old), "run"), res.o.Sides.new(), len(res.New))
}

// shortRuns returns a warning about runs that have less than half as many requests at a level as the run in
// the middle: they count as much as the others.
func (res *Result) shortRuns(l *LevelDiff) []string {
	all := slices.Concat(l.Old, l.New)
	if len(all) < 3 {
		return nil
	}
	requests := make([]int, len(all))
	for i, x := range all {
		requests[i] = x.OK + x.Failed
	}
	sorted := slices.Sorted(slices.Values(requests))
	middle := sorted[len(sorted)/2]
	var names []string
	least := middle
	for i, x := range all {
		if 2*requests[i] < middle {
			names, least = append(names, x.Run.Name), min(least, requests[i])
		}
	}
	switch n := len(names); {
	case n == 0 || 2*n >= len(all): // no exceptions
		return nil
	case n == 1:
		return []string{fmt.Sprintf("%s: %s has %s and most runs %s, but counts as much as they do; --exclude-run leaves it out", l.Name, names[0], plural.GroupedOf(least, "request"), plural.Grouped(middle))}
	default:
		return []string{fmt.Sprintf("%s: %s and %d more have as few as %s and most runs %s, but count as much as they do; --exclude-run leaves them out", l.Name, names[0], n-1, plural.GroupedOf(least, "request"), plural.Grouped(middle))}
	}
}

// swapped is the warning about runs of a side that were recorded with the name of the other side.
func swapped(side, other string) string {
	return fmt.Sprintf("the runs of the %s side have the label %s; are the sides swapped?", side, other)
}

// labeled reports whether all runs have the label.
func labeled(runs []*Run, label string) bool {
	return !slices.ContainsFunc(runs, func(r *Run) bool { return r.label() != label })
}

// byStart returns the runs in the order in which they were made.
func byStart(runs []*Run) []*Run {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *Run) int { return cmp.Compare(a.firstNS, b.firstNS) })
	return runs
}

// SameRun returns two entries of the list that are the same run, in two files or in
// the same file twice. Such a run would count twice.
func SameRun(runs []*Run) (a, b *Run, found bool) {
	for i := range runs {
		for j := range i {
			if runs[i].sameAs(runs[j]) {
				return runs[j], runs[i], true
			}
		}
	}
	return nil, nil, false
}

// compareSettings returns a Result with the levels in common and the Differences in how
// the runs of two sides were made. It compares no values: the levels have no rows.
func compareSettings(older, newer []*Run, o Options) *Result {
	res := &Result{Old: byStart(older), New: byStart(newer), Single: len(older) == 1 && len(newer) == 1, o: o}
	res.match(slices.Contains(o.Ignore, load) || slices.Contains(o.Ignore, All))
	res.differences(o.Ignore)
	return res
}

// match finds the levels that both sides have, as the options pair them. If whatever is set and each side has one
// level, match compares them even if their loads differ.
func (res *Result) match(whatever bool) {
	older, newer := groups(res.Old, res.o.Pair), groups(res.New, res.o.Pair)
	if whatever && res.o.Pair == levelpair.Load && len(older) == 1 && len(newer) == 1 {
		l := res.levelResult(older[0], newer[0])
		if !l.sameLoads() {
			l.Name += " → " + l.New[0].Name()
		}
		res.Levels = []*LevelDiff{l}
		return
	}
	left := make(map[nthLoad]*Group, len(newer)) // of newer
	for _, n := range newer {
		left[n.load] = n
	}
	for _, o := range older {
		if n := left[o.load]; n != nil {
			delete(left, o.load)
			l := res.levelResult(o, n)
			if res.o.Pair != levelpair.Load {
				l.Name = levelpair.Name(o.Name, n.Name)
			}
			res.Levels = append(res.Levels, l)
		} else {
			res.OldOnly = append(res.OldOnly, o.Name)
		}
	}
	for _, n := range newer {
		if left[n.load] != nil {
			res.NewOnly = append(res.NewOnly, n.Name)
		}
	}
}

// sameLoads reports whether all levels of both sides have the same mode and value.
func (l *LevelDiff) sameLoads() bool {
	return !slices.ContainsFunc(slices.Concat(l.Old, l.New), func(x *RunLevel) bool { return !x.sameLoad(l.Old[0]) })
}

// pairing says how the levels were paired, if not by their loads; else "".
func (r *Result) pairing() string {
	n := 0
	for _, l := range r.Levels {
		if !l.sameLoads() {
			n++
		}
	}
	return r.o.Pair.Line(n, len(r.Levels))
}

// levelResult returns the comparison of two groups, without values.
func (res *Result) levelResult(older, newer *Group) *LevelDiff {
	return &LevelDiff{
		Name: older.Name, Mode: older.Mode, Value: older.Value,
		Old: older.Levels, New: newer.Levels, sides: res.o.Sides,
		failures: failures{older: countsOf(older.Levels), newer: countsOf(newer.Levels), tests: 1, known: !slices.ContainsFunc(slices.Concat(older.Levels, newer.Levels), (*RunLevel).failuresUnknown)},
	}
}

// rows calls f for each metric that either side has, with its row.
func (res *Result) rows(l *LevelDiff, f func(r *Row)) {
	for i, m := range Metrics {
		judged := res.o.judges(m) && (res.o.Primary != nil || !m.IsRate() || !l.fewCompletions())
		r := &Row{Metric: m, Primary: judged, Adjusted: math.NaN(), Level: confidence, margin: res.o.margin()}
		some := false
		for _, x := range l.Old {
			r.OldRuns = append(r.OldRuns, x.values[i])
			some = some || !math.IsNaN(x.values[i])
		}
		for _, x := range l.New {
			r.NewRuns = append(r.NewRuns, x.values[i])
			some = some || !math.IsNaN(x.values[i])
		}
		if !some && (!r.Metric.Quality || l.Old[0].noFigure[r.Metric.of] == "") {
			continue
		}
		f(r)
		if r.Primary && !res.refused {
			r.Spoiled = l.spoiled(r.Metric)
		}
		if !res.refused {
			r.Equal, r.steady = l.repeats(r)
		}
		l.Rows = append(l.Rows, r)
	}
}

// values fills the rows with values only; why is the reason.
func (res *Result) values(l *LevelDiff, why string) {
	res.rows(l, func(r *Row) { l.bare(r, inference.NA{Reason: why}) })
}

// bare makes r a comparison without an interval: values and their change. The value of
// several runs is their geometric mean, as in [inference.Runs], or their mean if
// there is no geometric mean.
func (l *LevelDiff) bare(r *Row, na inference.NA) {
	r.P = math.NaN()
	r.NA = na
	r.Old = inference.Estimate{Value: inference.MeanOfRuns(r.OldRuns), N: len(r.OldRuns), NA: na}
	r.New = inference.Estimate{Value: inference.MeanOfRuns(r.NewRuns), N: len(r.NewRuns), NA: na}
	if len(l.Old) == 1 && len(l.New) == 1 {
		r.Old.N, r.New.N = l.Old[0].n[r.Metric.of], l.New[0].n[r.Metric.of]
	}
	r.Change = math.NaN()
	if r.Old.Value > 0 && r.New.Value >= 0 {
		r.Change = r.New.Value/r.Old.Value - 1
	}
}

// single compares one run with one.
func (res *Result) single(l *LevelDiff) {
	o, n := l.Old[0], l.New[0]
	if why := cmp.Or(o.untimed, n.untimed); why != "" {
		res.values(l, "the order of time is not known: "+why)
		return
	}
	older, newer := o.follow, n.follow
	paired := pairs(&older.prompts, &newer.prompts)
	l.Pairs = paired.n
	l.unsteadyRuns = l.unsteady()
	var so, sn [seriesQuantities]*inference.Series
	var side sync.WaitGroup
	side.Go(func() { so = older.expected() })
	sn = newer.expected()
	side.Wait()
	res.rows(l, func(r *Row) {
		m := r.Metric
		r.Primary = res.judgesSingle(m, r.Primary, &paired)
		if na, missing := l.missing(r); missing {
			l.bare(r, na)
			return
		}
		switch {
		case l.singleQuality(r, so[normalizedLatency], sn[normalizedLatency]):
		case m.of == failedShare:
			l.countFailures(r)
		case m.of == requestRate:
			r.Comparison = inference.Change(older.rate(older.done), newer.rate(newer.done))
		case m.of == outputRate:
			r.Comparison = inference.Change(older.rate(older.tokens), newer.rate(newer.tokens))
		case m.pct == 0:
			r.Comparison = inference.Change(so[m.of].Mean(), sn[m.of].Mean())
		default:
			if by := paired.of(m.of); by != nil && m.pct == 50 {
				if c := by.Median(); !c.NA.Missing() {
					r.Comparison, r.Paired = c, true
					return
				}
			}
			r.Comparison = inference.Change(so[m.of].Quantile(m.pct/100), sn[m.of].Quantile(m.pct/100))
		}
	})
}

// judgesSingle reports whether a metric of single runs has a verdict. Unless the user chose the metrics,
// TTFT and E2EL are judged by their means, whose intervals are much narrower than those of the medians;
// if their requests are paired, the medians of the pairs are narrower still.
func (res *Result) judgesSingle(m *Metric, primary bool, paired *pairing) bool {
	if res.o.Primary != nil || !m.judgedByMean() {
		return primary
	}
	by := paired.of(m.of)
	median := false
	if by != nil {
		c := by.Median()
		median = !c.NA.Missing()
	}
	return median == (m.pct == 50)
}

// minCompletions is the number of completed requests a side from which on a rate is judged. The rate of
// fewer requests is known so badly that it finds nothing, and it costs the other metrics power.
const minCompletions = 200

// fewCompletions reports whether a side has too few completed requests for a verdict about a rate.
func (l *LevelDiff) fewCompletions() bool {
	completed := func(levels []*RunLevel) (n int) {
		for _, x := range levels {
			n += x.OK
		}
		return n
	}
	return min(completed(l.Old), completed(l.New)) < minCompletions
}

// several compares runs by their values.
func (res *Result) several(l *LevelDiff) {
	res.rows(l, func(r *Row) {
		if na, missing := l.missing(r); missing {
			l.bare(r, na)
			return
		}
		if r.Metric.of == failedShare {
			l.countFailures(r)
			return
		}
		r.Comparison = inference.Runs(r.OldRuns, r.NewRuns)
		if r.Metric.Quality { // often 0, which has no geometric mean
			r.Old.Value, r.New.Value = inference.MeanOfRuns(r.OldRuns), inference.MeanOfRuns(r.NewRuns)
		}
	})
}
