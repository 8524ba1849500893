package trend

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Options are the settings of an analysis.
type Options struct {
	// Ignore names the differences that do not refuse the runs, see [diff.Refusals].
	Ignore []string
}

// A Result is the history of all metrics over the points.
type Result struct {
	Points []Point
	Set    *diff.Set
	Levels []*LevelHistory
	// Findings are what the points show beside steps; nil if the runs are not comparable.
	Findings []Finding
}

// A LevelHistory has the rows of one load level.
type LevelHistory struct {
	*diff.Group
	Rows []*Row // one per metric that at least one point has
}

// A Row is the history of one metric.
type Row struct {
	Metric *diff.Metric
	Values []Value // one per point
	Steps  []Step
	// NA says why steps are not searched; "" if they are.
	NA string

	off  []off
	line float64 // see [lineChange]
}

// A Value is the value of a metric at a point.
type Value struct {
	Mean     float64            // geometric mean of Runs; NaN if no run has the metric
	Runs     []float64          // the value of each run that has the metric
	Interval inference.Interval // 95 % interval of the mean; NaN for fewer than 3 runs
}

// Analyze collects the values of all metrics and levels over the points, and searches them
// for steps.
func Analyze(points []Point, o Options) *Result {
	var runs []*diff.Run
	for _, p := range points {
		runs = append(runs, p.Runs...)
	}
	res := &Result{Points: points, Set: diff.NewSet(runs, o.Ignore)}
	refused := len(res.Set.Refused()) > 0
	for _, level := range res.Set.Levels {
		l := &LevelHistory{Group: level}
		for _, m := range diff.Metrics {
			r := &Row{Metric: m, Values: make([]Value, 0, len(points))}
			found := false
			for _, p := range points {
				v := valueOf(p.values(l.Group, m))
				r.Values = append(r.Values, v)
				found = found || !math.IsNaN(v.Mean)
			}
			if found {
				l.Rows = append(l.Rows, r)
			}
		}
		res.Levels = append(res.Levels, l)
	}
	searched := 0 // primary metrics of all levels: the family of the p-values
	for _, l := range res.Levels {
		moves := ratesMove(points, l.Group)
		for _, r := range l.Rows {
			if r.NA = r.unusable(refused, moves); r.NA == "" && r.Metric.Primary {
				searched++
			}
		}
	}
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			r.line = math.NaN()
			if r.NA != "" {
				continue
			}
			values := r.means()
			r.Steps = stepsOf(values, max(1, searched))
			if r.off = offPoints(values, r.Steps, max(1, searched)); r.off == nil {
				r.line = lineChange(values, r.Steps, max(1, searched))
			}
		}
	}
	res.Findings = res.findings()
	return res
}

// valueOf returns the value of a point from the values of its runs.
func valueOf(runs []float64) Value {
	v := Value{Mean: inference.MeanOfRuns(runs), Runs: runs, Interval: inference.Interval{Low: math.NaN(), High: math.NaN()}}
	if e := inference.GeometricMean(runs); !e.NA.Missing() {
		v.Interval = e.Interval(confidence)
	}
	return v
}

// means returns the mean of each point.
func (r *Row) means() []float64 {
	var all []float64
	for _, v := range r.Values {
		all = append(all, v.Mean)
	}
	return all
}

// ratesMove reports whether the rates of the points differ because of the lengths of their
// runs.
func ratesMove(points []Point, l *diff.Group) bool {
	var first []*diff.RunLevel
	for _, p := range points {
		levels := p.levels(l)
		switch {
		case levels == nil:
		case first == nil:
			first = levels
		case diff.RatesMove(first, levels):
			return true
		}
	}
	return false
}

// unusable returns why the metric is not searched for steps; "" if it is. ratesMove says that
// the points have different numbers of requests.
func (r *Row) unusable(refused, ratesMove bool) string {
	means := slices.DeleteFunc(r.means(), math.IsNaN)
	switch {
	case refused:
		return "the runs are not comparable"
	case r.Metric.Key == diff.KeyFailedShare:
		return "failed requests are compared by their counts"
	case len(r.Values) < 2*minPerSide:
		return fmt.Sprintf("a search for steps needs at least %d points", 2*minPerSide)
	case len(means) < 2*minPerSide:
		return fmt.Sprintf("only %s a value, and a search for steps needs at least %d", plural.Of(len(means), "point")+plural.Form(len(means), " has", " have"), 2*minPerSide)
	case slices.ContainsFunc(means, func(v float64) bool { return !(v > 0) }):
		return "a value that is not above 0 has no logarithm"
	case equal(slices.Min(means), slices.Max(means)):
		return equalPoints
	case ratesMove && r.Metric.IsRate():
		return "the points have different numbers of requests, and short runs have lower rates"
	}
	return ""
}

// equalPoints is the reason why a metric without any change is not searched for steps.
const equalPoints = "all points are equal"

// Headline returns the result in one line: failed requests first, then the primary metrics that changed and
// the points at which they did, then points that are off and metrics that drift.
func (res *Result) Headline() string {
	if refused := res.Set.RefusedNames(); refused != nil {
		return "not comparable: the runs differ in " + strings.Join(refused, ", ") + "; --ignore NAME analyzes them together anyway"
	}
	failing := res.failures()
	return strings.Join(slices.Concat(failing, []string{res.steps(failing != nil)}, res.beside()), "; ")
}

// steps says where the primary metrics changed, or why no step is known.
func (res *Result) steps(failing bool) string {
	found := make([][]string, len(res.Points)) // by the first point after the step
	changed := false
	searched, missing := 0, 0 // metrics; points without a value
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			switch {
			case !r.Metric.Primary:
				continue
			case r.NA == "":
				searched++
				missing = max(missing, len(r.Values)-len(usablePoints(r.means())))
			}
			for _, s := range r.Steps {
				found[s.At] = append(found[s.At], fmt.Sprintf("%s%s %s %%", r.Metric.Name, res.at(l), sheet.Signed(s.Change)))
				changed = true
			}
		}
	}
	n, other := len(res.Points), ""
	if failing {
		other = "other "
	}
	switch {
	case changed:
		var parts []string
		for i, texts := range found {
			if texts != nil {
				parts = append(parts, "from "+sanitize.Text(res.Points[i].Label)+" on: "+strings.Join(texts, ", "))
			}
		}
		for _, f := range res.Findings { // the cause of a step, perhaps
			if f.Kind == KindLengths {
				parts = append(parts, f.Reason)
			}
		}
		text := "changed " + strings.Join(parts, "; ")
		if failing { // their latencies are of fewer requests
			text = "of the requests that succeeded, " + text
		}
		return text
	case searched > 0 && missing > 0:
		return fmt.Sprintf("no step in any %sprimary metric over %s, %d without a value", other, plural.Of(n, "point"), missing)
	case searched > 0:
		return fmt.Sprintf("no step in any %sprimary metric over %s", other, plural.Of(n, "point"))
	case n < 2*minPerSide:
		return fmt.Sprintf("too few points to find a step: %d, at least %d are needed", n, 2*minPerSide)
	}
	if why := res.notSearched(); why != "" {
		return "no step: " + why
	}
	return "no primary metric can be searched for steps"
}

// Incomparable returns an error that names the differences that make the runs incomparable;
// nil if the runs are comparable.
func (res *Result) Incomparable() error { return res.Set.Incomparable() }
