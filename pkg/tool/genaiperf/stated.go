package genaiperf

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// statement is the report profile_export_genai_perf.json.
func statement() resultfile.Statement {
	return resultfile.Statement{
		Definitions: "GenAI-Perf", Dialect: "genai-perf-latest", Rates: stated.Rates{User: "output_token_throughput_per_user avg", GPU: "output_token_throughput"},
		Is: func(o *resultfile.Object) bool {
			return o.Has("request_latency.unit", "request_latency.avg") && !o.Has("aiperf_version") && o.Text("request_count.unit") != "requests"
		},
		Read: func(o *resultfile.Object, r *stated.Result) {
			config := o.Under("input_config.")
			r.Model = config.Text("model_names.0")
			if r.Model == "" {
				r.Model = config.Text("model.0")
			}
			l := stated.Level{Figures: resultfile.TaggedFigures(o)}
			for _, mode := range []string{export.ModeConcurrency, export.ModeRequestRate} {
				for _, path := range []string{mode, "perf_analyzer.stimulus." + mode} {
					if v := config.Number(path); !math.IsNaN(v) && l.Mode == "" {
						l.Mode, l.Value = mode, config.Text(path)
					}
				}
			}
			r.Levels = append(r.Levels, l)
		},
	}
}

// isTable reports whether a CSV with the header of NVIDIA's tools is of GenAI-Perf: the CSV of AIPerf is recognized before it.
func isTable([]byte) bool { return true }
