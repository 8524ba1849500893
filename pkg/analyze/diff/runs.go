package diff

import (
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// compareSettings returns a Result with the levels in common and the Differences in how
// the runs of two sides were made. It compares no values: the levels have no rows.
func compareSettings(older, newer []*Run, o Options) *Result {
	res := &Result{Old: byStart(older), New: byStart(newer), Single: len(older) == 1 && len(newer) == 1, o: o}
	res.match(slices.Contains(o.Ignore, load) || slices.Contains(o.Ignore, All))
	res.differences(o.Ignore)
	return res
}

// Start returns the start of the first request in Unix nanoseconds. ok is false if the
// run has no request, or its file has no start times.
func (r *Run) Start() (ns uint64, ok bool) {
	if _, lacks := r.Header.Lacks(export.PartStarts); lacks || r.requests == 0 {
		return 0, false
	}
	return r.firstNS, true
}

// Measured returns the definitions by which the run was measured, for people: "strict
// definitions, from start".
func (r *Run) Measured() string { return (&Result{Old: []*Run{r}}).measured() }

// NotKnown says that no file of these runs states the model, or the load of a level; "" if one
// states both. What is known of no run has not been compared.
func NotKnown(runs []*Run) string {
	model, loads := false, false
	for _, r := range runs {
		model = model || r.Model != ""
		loads = loads || !slices.ContainsFunc(r.Levels, func(l Level) bool { return l.Problem == nil && !l.loadKnown() })
	}
	var missing []string
	if !loads {
		missing = append(missing, "load")
	}
	if !model {
		missing = append(missing, "model")
	}
	if missing == nil || len(runs) == 0 {
		return ""
	}
	return strings.Join(missing, " and ") + ": not known of any run, so not compared"
}

// Statistic returns the value of the metric with this key; NaN if the level has none, or if
// there is no such metric.
func (l *Level) Statistic(key string) float64 {
	i := slices.IndexFunc(Metrics[:], func(m Metric) bool { return m.Key == key })
	if i < 0 {
		return math.NaN()
	}
	return l.values[i]
}
