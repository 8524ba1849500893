package view

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// A Distribution is the distribution of a metric over the successful requests of a level.
type Distribution struct {
	Metric answer.Metric
	// Summary is the summary in the report; its N is the number of values. Its Curve, which is never
	// nil, has the percentiles at [summary.CurveLevels], exact and in the unit of the metric.
	Summary *summary.Summary
}

// distributions returns the distributions of a level.
func distributions(e *analyze.Experiment) []Distribution {
	var all []Distribution
	for _, m := range [...]answer.Metric{answer.TTFT, answer.ITL, answer.TPOT, answer.E2EL} {
		if s := e.Metric(m); s != nil {
			all = append(all, Distribution{m, s})
		}
	}
	return all
}
