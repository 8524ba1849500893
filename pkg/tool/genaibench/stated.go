package genaibench

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// statement is a result of a level.
func statement() resultfile.Statement {
	return resultfile.Statement{
		Definitions: toolName,
		Is: func(o *resultfile.Object) bool {
			return o.Has("aggregated_metrics.scenario", "aggregated_metrics.num_requests")
		},
		Read: func(o *resultfile.Object, r *stated.Result) {
			unit := o.Text("_time_unit")
			if unit == "" {
				unit = "s"
			}
			a := o.Under("aggregated_metrics.")
			l := stated.Level{Figures: resultfile.NestedFigures(a, func(metric string) (string, bool) {
				setting := metric == "num_concurrency" || metric == "batch_size" || strings.HasPrefix(metric, "error_codes_frequency.")
				return unitOf(metric, unit), !setting
			})}
			for i := range l.Figures { // "stats" only groups
				l.Figures[i].Metric = strings.TrimPrefix(l.Figures[i].Metric, "stats.")
			}
			if n := a.Text("num_concurrency"); n != "" {
				l.Mode, l.Value = export.ModeConcurrency, n
			}
			r.Notes = append(r.Notes, "scenario "+a.Text("scenario"))
			if errorRateWrong(a.Number("num_error_requests"), a.Number("error_rate")) {
				r.Notes = append(r.Notes, wrongErrorRate)
			}
			r.Levels = append(r.Levels, l)
		},
	}
}

// unitOf returns the unit of a metric. time is the unit of times.
func unitOf(metric, time string) string {
	switch metric {
	case "stats.ttft", "stats.tpot", "stats.e2e_latency", "stats.output_latency":
		return time
	case "stats.output_inference_speed", "stats.input_throughput", "stats.output_throughput":
		return "tokens/s"
	case "stats.audio_throughput":
		return "bytes/s"
	case "run_duration":
		return "s"
	case "requests_per_second":
		return "requests/s"
	}
	if strings.HasSuffix(metric, "_tokens_per_s") {
		return "tokens/s"
	}
	return ""
}
