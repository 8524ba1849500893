package hfbench

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// inference-benchmarker writes an object with a result for each load, the warm-up first:
//
//	{"config":{"max_vus":N,"model_name":S,…},
//	 "results":[{"id":S,"executor_type":"ConstantVUs"|"ConstantArrivalRate","config":{"max_vus":N,"rate":R|null,…},
//	             "total_requests":N,…,"time_to_first_token_ms":{"p50":T,…,"avg":T},…},…],
//	 "start_time":S,"end_time":S,"system":{…}}

// ResultFile describes the file of inference-benchmarker.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Stated: []resultfile.Statement{{
		Definitions: "inference-benchmarker",
		Sniff: func(o *resultfile.Outline) bool {
			return o.First == "config" && o.HasElement("results", "executor_type")
		},
		Is: func(o *resultfile.Object) bool { return o.Has("results.0.executor_type", "results.0.total_requests") },
		Read: func(o *resultfile.Object, r *stated.Result) {
			r.Model, r.Began = o.Text("config.model_name"), o.Text("start_time")
			results := o.Elements("results")
			for i, result := range results {
				if i == 0 && len(results) > 1 && result.Text("id") == "warmup" {
					r.Notes = append(r.Notes, "the figures of the warm-up are left out")
					continue
				}
				r.Levels = append(r.Levels, level(result))
			}
		},
	}}}
}

// level returns the level of a result.
func level(o *resultfile.Object) stated.Level {
	l := stated.Level{Figures: resultfile.NestedFigures(o, func(metric string) (string, bool) {
		return unitOf(metric), !strings.HasPrefix(metric, "config.")
	})}
	switch o.Text("executor_type") {
	case "ConstantVUs", "constant_vus":
		l.Mode, l.Value = export.ModeConcurrency, o.Text("config.max_vus")
	case "ConstantArrivalRate", "constant_arrival_rate":
		l.Mode, l.Value = export.ModeRequestRate, o.Text("config.rate")
	}
	return l
}

// unitOf returns the unit of a metric.
func unitOf(metric string) string {
	switch {
	case strings.HasSuffix(metric, "_ms"):
		return "ms"
	case metric == "token_throughput_secs":
		return "tokens/s"
	case metric == "request_rate":
		return "requests/s"
	}
	return ""
}
