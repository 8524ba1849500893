package endpoints

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// statement is the summary result_summary.json.
func statement() resultfile.Statement {
	return resultfile.Statement{
		Definitions: "mlcommons/endpoints",
		Is: func(o *resultfile.Object) bool {
			return o.Has("n_samples_issued", "n_samples_completed", "duration_ns")
		},
		Read: func(o *resultfile.Object, r *stated.Result) {
			r.Release = o.Text("version")
			if state := o.Text("state"); state != "" && state != "complete" {
				r.Notes = append(r.Notes, "the run ended in the state "+state)
			}
			r.Levels = append(r.Levels, stated.Level{Figures: resultfile.NestedFigures(o, func(metric string) (unit string, keep bool) {
				name, _, _ := strings.Cut(metric, ".")
				switch {
				case strings.Contains(metric, "histogram"), name == "run_config", name == "version", strings.HasPrefix(name, "test_started"):
					return "", false
				case name == "ttft", name == "tpot", name == "latency", strings.HasSuffix(name, "_ns"):
					return "ns", true
				case name == "qps":
					return "requests/s", true
				case name == "tps":
					return "tokens/s", true
				}
				return "", true
			})})
		},
	}
}
