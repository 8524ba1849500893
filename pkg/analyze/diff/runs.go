package diff

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// CompareSettings returns a Result with the levels in common and the Differences in how
// the runs of two sides were made. It compares no values: the levels have no rows.
func CompareSettings(older, newer []*Run, o Options) *Result {
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

// Statistic returns the value of the metric with this key; NaN if the level has none, or if
// there is no such metric.
func (l *Level) Statistic(key string) float64 {
	i := slices.IndexFunc(Metrics[:], func(m Metric) bool { return m.Key == key })
	if i < 0 {
		return math.NaN()
	}
	return l.values[i]
}
