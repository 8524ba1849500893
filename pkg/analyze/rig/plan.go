package rig

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// pilotRuns is the number of runs that a plan from fewer than MinRuns runs asks for.
const pilotRuns = 5

// PlanOptions say what a comparison should find.
type PlanOptions struct {
	// Change is the change, above 0: 0.05 for 5 %.
	Change float64
	// Power is the probability of finding it, or of showing that there is none: from MinPower to MaxPower.
	Power float64
}

// The bounds of PlanOptions.Power.
const (
	MinPower = 0.5
	MaxPower = 0.99
)

// A Plan says how many runs a comparison needs.
type Plan struct {
	Set     *diff.Set
	Options PlanOptions
	Levels  []*LevelPlan
	// RunSeconds is the time that a run took on average, with all of its levels; NaN if it is not known.
	RunSeconds float64
	// Command is the command that records the planned runs; NoCommand says why there is none.
	Command   Command
	NoCommand string
}

// A LevelPlan is the plan for a load level.
type LevelPlan struct {
	*diff.Group
	// Requests is the number of requests that a run had on average.
	Requests int
	Rows     []*PlanRow
	// Find and Exclude are the numbers of runs a side that find the change in any one of the metrics without an NA, and
	// that show that none of them changes by so much. They are MaxRunsASide + 1 if they are larger than MaxRunsASide,
	// and 0 if NA says why they are not known.
	Find, Exclude int
	NA            string
	// SingleRequests is the number of requests of a single run a side that finds the change in any one of the
	// metrics if runs do not differ otherwise; 0 if it is not known. Only a level with fewer than
	// MinRuns runs has it.
	SingleRequests float64
}

// A PlanRow is the plan for one metric.
type PlanRow struct {
	Metric *diff.Metric
	// Deviation is the standard deviation from run to run, Within the part of it that comes from the number of
	// requests, and Between the rest. They are NaN if they are not known.
	Deviation, Within, Between float64
	// Find and Exclude are the numbers of runs a side for this metric, as in LevelPlan. 0 if they are not known.
	Find, Exclude  int
	SingleRequests float64
	NA             string
}

// MakePlan plans comparisons from runs of one setting. within holds what is known about the requests of these
// runs. If the set is not comparable, nothing is planned.
func MakePlan(set *diff.Set, within *Within, o PlanOptions) *Plan {
	res := &Plan{Set: set, Options: o}
	res.measureRuns()
	var needs planner
	analyzed := Analyze(set, Options{})
	for _, level := range analyzed.Levels {
		l := &LevelPlan{Group: level.Group}
		for _, x := range l.Levels {
			l.Requests += x.OK + x.Failed
		}
		l.Requests = int(math.Round(float64(l.Requests) / float64(len(l.Levels))))
		switch {
		case len(set.Refused()) > 0:
			l.NA = "the runs are not comparable"
		case len(l.Levels) < MinRuns:
			l.single(within, o)
		default:
			l.several(level.Rows, within, o, &needs)
		}
		res.Levels = append(res.Levels, l)
	}
	res.command()
	return res
}

// several plans runs a side.
func (l *LevelPlan) several(rows []*Row, within *Within, o PlanOptions, needs *planner) {
	var known []runDeviation
	tests := 0
	for _, r := range rows {
		if diff.Judged(r.Metric, false) && r.NA == "" {
			tests++
		}
	}
	for _, r := range rows {
		if !diff.Judged(r.Metric, false) {
			continue
		}
		x := &PlanRow{Metric: r.Metric, Deviation: r.Deviation, NA: r.NA}
		x.Within, _ = within.of(l.Levels, r.Metric)
		x.Between = math.Sqrt(math.Max(0, x.Deviation*x.Deviation-x.Within*x.Within))
		if r.NA == "" {
			d := runDeviation{Value: r.Deviation, DF: float64(len(l.Levels) - 1)}
			known = append(known, d)
			// Holm's first step: the largest change must pass the level divided by the number of metrics.
			x.Find = needs.toFind(d, o.Change, alpha/float64(tests), o.Power)
			x.Exclude = needs.toExclude([]runDeviation{d}, o.Change, o.Power)
			l.Find = max(l.Find, x.Find)
		}
		l.Rows = append(l.Rows, x)
	}
	if known == nil {
		l.NA = "the deviation of every metric is unknown"
		if len(l.Rows) > 0 {
			l.NA = l.Rows[0].NA
		}
		return
	}
	l.Exclude = needs.toExclude(known, o.Change, o.Power)
}

// single plans the requests of a single run a side.
func (l *LevelPlan) single(within *Within, o PlanOptions) {
	l.NA = fmt.Sprintf("%s not show how much runs differ by chance; at least %d are needed", map[bool]string{true: "one run does", false: plural.Of(len(l.Levels), "run") + " do"}[len(l.Levels) == 1], MinRuns)
	for _, m := range diff.Metrics {
		if !diff.Judged(m, true) {
			continue
		}
		if values := l.Values(m); !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
			continue
		}
		nan := math.NaN()
		r := &PlanRow{Metric: m, Deviation: nan, Between: nan}
		r.Within, r.NA = within.of(l.Levels, m)
		l.Rows = append(l.Rows, r)
	}
	for _, r := range l.Rows {
		if r.NA == "" {
			r.SingleRequests = requestsToFind(r.Within, l.Requests, o.Change, alpha/float64(len(l.Rows)), o.Power)
			l.SingleRequests = math.Max(l.SingleRequests, r.SingleRequests)
		}
	}
}

// measureRuns computes RunSeconds: from the recorder's own times of a run, else from its levels.
func (res *Plan) measureRuns() {
	sum := 0.0
	for _, r := range res.Set.Runs {
		seconds := 0.0
		if m := r.Header.Meta; m != nil && m.StartNS != 0 && m.EndNS > m.StartNS {
			seconds = float64(m.EndNS-m.StartNS) / 1e9
		} else {
			for i := range r.Levels {
				seconds += float64(r.Levels[i].DurationNS) / 1e9
			}
		}
		if !(seconds > 0) {
			res.RunSeconds = math.NaN()
			return
		}
		sum += seconds
	}
	res.RunSeconds = sum / float64(len(res.Set.Runs))
}

// runs returns the number of runs a side that suffice for all levels, to find the change and to exclude it; 0 if
// it is not known for a level, or more than MaxRunsASide.
func (res *Plan) runs() int {
	k := 0
	for _, l := range res.Levels {
		if l.Find == 0 || max(l.Find, l.Exclude) > MaxRunsASide {
			return 0
		}
		k = max(k, l.Find, l.Exclude)
	}
	return k
}

// tooMany reports whether a level needs more than MaxRunsASide runs a side.
func (res *Plan) tooMany() bool {
	return slices.ContainsFunc(res.Levels, func(l *LevelPlan) bool { return max(l.Find, l.Exclude) > MaxRunsASide })
}

// seconds returns the time that k runs a side take; NaN if it is not known.
func (res *Plan) seconds(k int) float64 { return 2 * float64(k) * res.RunSeconds }

// Within holds how much latencies may be off because a run has so few requests. The zero value is empty.
type Within struct {
	errors map[withinKey]standardError
}

// A standardError is the standard error of the logarithm of a metric of a run; why says why there is none.
type standardError struct {
	value float64
	why   string
}

type withinKey struct {
	run                 *diff.Run
	mode, value, metric string
}

// intervalZ is the distance of the ends of an interval from its middle in standard errors, if it comes from many values.
const intervalZ = 1.959964

// Add adds the levels of a run, which must have been read with Config.Series and not be closed yet.
func (w *Within) Add(run *diff.Run) {
	if w.errors == nil {
		w.errors = map[withinKey]standardError{}
	}
	for i := range run.Levels {
		l := &run.Levels[i]
		for _, m := range diff.Metrics {
			if m.IsRate() || !m.Primary && !diff.Judged(m, true) { // the intervals of rates are too wide in short runs
				continue
			}
			e := l.Within(m)
			ends := e.Interval(confidence)
			se := standardError{(math.Log(ends.High) - math.Log(ends.Low)) / (2 * intervalZ), e.NA.Reason}
			if se.why == "" && !(se.value > 0 && !math.IsInf(se.value, 0)) {
				se.why = "the number of requests bounds it on one side only"
			}
			w.errors[withinKey{run, l.Mode, l.Value, m.Key}] = se
		}
	}
}

// of returns the standard error of the logarithm of a metric within runs at a level: the root of the mean square. It is NaN
// if it is not known for a run; why says why.
func (w *Within) of(levels []*diff.RunLevel, m *diff.Metric) (se float64, why string) {
	sum := 0.0
	for _, l := range levels {
		x, ok := w.errors[withinKey{l.Run, l.Mode, l.Value, m.Key}]
		if !ok {
			return math.NaN(), "its requests were not read"
		}
		if x.why != "" {
			return math.NaN(), x.why
		}
		sum += x.value * x.value
	}
	return math.Sqrt(sum / float64(len(levels))), ""
}

// singleDF is the number of degrees of freedom of a comparison of two single runs, see [inference.Change].
const singleDF = 32

// requestsToFind returns how many requests a run a comparison of two single runs needs to find a change at the level
// alpha with the probability power, if a run of n requests has the standard error se and if runs do not
// differ otherwise. Standard errors fall with the root of the number of requests.
func requestsToFind(se float64, n int, change, alpha, power float64) float64 {
	t := func(p float64) float64 { return inference.StudentQuantile(p, singleDF) } // two-sided
	wanted := math.Log1p(change) / (math.Sqrt2 * (t(1-alpha) + t(2*power-1)))
	ratio := se / wanted
	return math.Ceil(float64(n) * ratio * ratio)
}
