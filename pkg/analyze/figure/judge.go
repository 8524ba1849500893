package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// mostFailed is the largest share of failed requests with which a level can meet an objective.
const mostFailed = 0.01

// An ObjectiveJudge collects the metrics of the requests of a level, 8 bytes for each value, and decides
// whether the level meets the objective. Its methods belong to one goroutine.
type ObjectiveJudge struct {
	Verdicts []Verdict // one for each call of Met

	objective  *expr.Objective
	run        *export.Run
	meter      *answer.Meter // nil until the first request: the run is described by then
	metrics    []answer.Metric
	values     [][]float64 // values[i] are the values of metrics[i]
	ok, failed int
	failures   []int           // positions of the failed requests among the requests of the level
	shares     []expr.Share    // conditions of the objective as shares of values; nil if they are not shares
	levels     []attainedLevel // one for each of Verdicts
}

// An attainedLevel holds how the requests of a level attain the conditions of the objective.
type attainedLevel struct {
	requests   int
	conditions []inference.Estimate // of ObjectiveJudge.shares
	// succeeded is the share of requests that did not fail.
	succeeded inference.Estimate
	// fail says that so many failed that the level does not meet the objective.
	fail bool
}

// NewObjectiveJudge returns a judge for the levels of run. objective is from [expr.ParseLevelObjective].
func NewObjectiveJudge(objective *expr.Objective, run *export.Run) *ObjectiveJudge {
	j := &ObjectiveJudge{objective: objective, run: run, shares: objective.Shares()}
	for _, m := range objective.Metrics() {
		if !slices.Contains(j.metrics, m.Of) {
			j.metrics = append(j.metrics, m.Of)
		}
	}
	j.values = make([][]float64, len(j.metrics))
	return j
}

// String returns the objective.
func (j *ObjectiveJudge) String() string { return j.objective.String() }

// Add adds a request of the level. It keeps no reference to q. A nil ObjectiveJudge does nothing.
func (j *ObjectiveJudge) Add(q *export.Request) {
	if j == nil {
		return
	}
	if j.meter == nil {
		j.meter = answer.NewMeter(j.run, answer.Config{})
	}
	m := j.meter.Measure(q)
	switch {
	case m.Excluded == export.ExcludedFailed:
		j.failures = append(j.failures, j.ok+j.failed)
		j.failed++
		return
	case !m.Counted:
		return
	}
	j.ok++
	for i, metric := range j.metrics {
		switch metric {
		case answer.ITL:
			for _, gap := range m.Gaps {
				j.values[i] = append(j.values[i], float64(gap))
			}
		case answer.TPOT:
			if v, ok := m.TPOT(); ok {
				j.values[i] = append(j.values[i], v)
			}
		default:
			if v, ok := m.Value(metric).Float(); ok {
				j.values[i] = append(j.values[i], v)
			}
		}
	}
}

// A Verdict says whether a level met the objective, and by which figures.
type Verdict struct {
	Met bool
	// Figures are the metrics of the objective: "ttft_p99 210ms, itl_p99 12.3ms".
	Figures string
}

// Met decides whether the level whose requests were added meets the objective, and forgets the
// requests. A level does not meet the objective if it lacks a metric that would decide, or if more
// than 1 % of its requests failed.
func (j *ObjectiveJudge) Met() bool {
	level := j.attained() // before the values are sorted
	for i := range j.values {
		stat.Sort(j.values[i])
	}
	met := j.objective.Eval(j.value) == expr.True
	var figures []string
	for _, m := range j.objective.Metrics() {
		text := "unknown"
		if v, ok := j.value(m); ok {
			text = metricText(m, v)
		}
		figures = append(figures, m.Name+" "+text)
	}
	if all := j.ok + j.failed; j.failed > 0 && float64(j.failed) > mostFailed*float64(all) {
		met, level.fail = false, true
		figures = append(figures, fmt.Sprintf("%s of %s failed", plural.Grouped(j.failed), plural.GroupedOf(all, "request")))
	}
	for i := range j.values {
		j.values[i] = j.values[i][:0]
	}
	j.ok, j.failed, j.failures = 0, 0, j.failures[:0]
	j.levels = append(j.levels, level)
	j.Verdicts = append(j.Verdicts, Verdict{met, strings.Join(figures, ", ")})
	return met
}

// attained estimates the shares of the values of the level that keep the limits of the objective.
// If no request has a value, none keeps the limit.
func (j *ObjectiveJudge) attained() attainedLevel {
	a := attainedLevel{requests: j.ok + j.failed}
	if j.shares == nil || a.requests == 0 {
		return a
	}
	for i := range j.shares {
		s := &j.shares[i]
		var margins []float32
		for _, v := range j.values[slices.Index(j.metrics, s.Metric.Of)] {
			margins = append(margins, s.Margin(v))
		}
		if margins == nil {
			margins = slices.Repeat([]float32{-1}, a.requests)
		}
		a.conditions = append(a.conditions, inference.Attained(margins))
	}
	succeeded := make([]float32, a.requests)
	for _, i := range j.failures {
		succeeded[i] = -1
	}
	a.succeeded = inference.Attained(succeeded)
	return a
}

// MaxLoad estimates the highest load that meets the objective, as reports do. loads are the
// levels in the order of the calls of Met, without shares. It returns nil unless the objective is
// about percentiles, and there are two levels with requests.
//
// The share of requests that did not fail is an objective, too, if too many failed at a level.
func (j *ObjectiveJudge) MaxLoad(mode string, loads []LoadLevel) *MaxLoad {
	if j.shares == nil || len(loads) != len(j.levels) {
		return nil
	}
	var order []int
	fail := false
	for i := range loads {
		if j.levels[i].requests > 0 {
			order = append(order, i)
			fail = fail || j.levels[i].fail
		}
	}
	if len(order) < 2 {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(loads[a].Load, loads[b].Load) })
	objectives := make([]LoadObjective, len(j.shares), len(j.shares)+1)
	for i := range j.shares {
		objectives[i].Target = j.shares[i].Target
	}
	if fail {
		objectives = append(objectives, LoadObjective{Target: 1 - mostFailed})
	}
	var levels []LoadLevel
	for _, i := range order {
		l := loads[i]
		l.Share = math.NaN() // the conditions have none in common
		levels = append(levels, l)
		for k := range objectives {
			share := j.levels[i].succeeded
			if k < len(j.shares) {
				share = j.levels[i].conditions[k]
			}
			objectives[k].Shares = append(objectives[k].Shares, share)
		}
	}
	m := MaxLoadOf(mode, levels, objectives...)
	m.Target = 0 // a share of values, not of requests
	return m
}

// value returns a metric of the level, whose values are sorted, as reports compute it.
func (j *ObjectiveJudge) value(m expr.Metric) (float64, bool) {
	values := j.values[slices.Index(j.metrics, m.Of)]
	n := len(values)
	switch {
	case n == 0:
		return 0, false
	case m.Percentile > 0:
		return stat.Quantile(values, m.Percentile/100), true
	case strings.HasSuffix(m.Name, "_min"):
		return values[0], true
	case strings.HasSuffix(m.Name, "_max"):
		return values[n-1], true
	}
	var sum stat.Sum
	for _, v := range values {
		sum.Add(v)
	}
	return sum.Value() / float64(n), true
}

// metricText formats the value of a metric for people.
func metricText(m expr.Metric, v float64) string {
	if m.Kind == expr.Duration {
		return fmt.Sprintf("%.4g ms", v/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.4g", v)
}
