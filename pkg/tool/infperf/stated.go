package infperf

import (
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// statement is the summary of a run or of a stage: summary_lifecycle_metrics.json, stage_N_lifecycle_metrics.json.
func statement() resultfile.Statement {
	return resultfile.Statement{
		Definitions: "inference-perf", Dialect: "inference-perf",
		Is: func(o *resultfile.Object) bool { return o.Has("load_summary.count", "successes.count") },
		Read: func(o *resultfile.Object, r *stated.Result) {
			l := stated.Level{Figures: resultfile.NestedFigures(o, func(metric string) (string, bool) {
				return unitOf(metric), true
			})}
			for i := range l.Figures { // "latency" only groups
				l.Figures[i].Metric = strings.Replace(l.Figures[i].Metric, "successes.latency.", "successes.", 1)
			}
			for _, load := range [][2]string{{export.ModeRequestRate, "load_summary.requested_rate"}, {export.ModeConcurrency, "load_summary.concurrency"}} {
				if v := o.Number(load[1]); !math.IsNaN(v) && l.Mode == "" {
					l.Mode, l.Value = load[0], o.Text(load[1])
				}
			}
			r.Levels = append(r.Levels, l)
		},
	}
}

// unitOf returns the unit of a metric. Its times are seconds.
func unitOf(metric string) string {
	name := metric[strings.LastIndexByte(metric, '.')+1:]
	switch {
	case strings.HasSuffix(name, "_per_sec"):
		return strings.TrimSuffix(name, "_per_sec") + "/s"
	case strings.HasSuffix(name, "_rate"):
		return "requests/s"
	case strings.HasSuffix(name, "latency"), strings.HasPrefix(name, "time_"), strings.HasSuffix(name, "_per_output_token"),
		strings.HasSuffix(name, "_seconds"), strings.HasSuffix(name, "delay"), strings.HasSuffix(name, "duration"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	}
	return ""
}
