package aiperf

import (
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// checkGoodput returns an error if a limit is on an unknown metric.
func (r *release) checkGoodput(limits []dialect.Limit) error {
	for _, l := range limits {
		if r.column(l.Metric) == nil {
			return fmt.Errorf("AIPerf stops with: Unknown metric tag(s) in --goodput: %s.; it takes the names in its JSON report, such as %s", l.Metric, firstToken)
		}
	}
	return nil
}

// good reports whether a request keeps all limits. A request without a value for a
// metric fails its limit. If a metric has two limits, the last one counts.
func (a *analysis) good(r *record) bool {
	for i, l := range a.cfg.Goodput {
		if slices.ContainsFunc(a.cfg.Goodput[i+1:], func(o dialect.Limit) bool { return o.Metric == l.Metric }) {
			continue
		}
		v, ok := r.value(l.Metric, a.c.streamed)
		limit := l.Value
		switch a.release.column(l.Metric).unit {
		case "ms":
			limit *= 1e6
		case "KB":
			limit *= 1024
		}
		least := slices.Contains(a.release.largerIsBetter, l.Metric)
		if !ok || least && v < limit || !least && v > limit {
			return false
		}
	}
	return true
}
