package inferencex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// ResultFile describes the results of InferenceX.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Stated: []resultfile.Statement{{
		Definitions: "InferenceX",
		Rates:       stated.Rates{User: "mean_intvty", GPU: "output_tput_per_gpu", PerGPU: true},
		Is: func(o *resultfile.Object) bool {
			return o.Has("hw", "conc", "framework", "tput_per_gpu")
		},
		Sniff: func(o *resultfile.Outline) bool { return o.Has("hw", "framework", "tput_per_gpu") },
		Read: func(o *resultfile.Object, r *stated.Result) {
			r.Model = cmp.Or(r.Model, o.Text("model"))
			l := stated.Level{Mode: export.ModeConcurrency, Value: o.Text("conc")}
			for i := range o.Values {
				v := &o.Values[i]
				unit, figure := unitOf(v.Path)
				switch {
				case strings.Contains(v.Path, "."), v.Path == "conc", v.Text == "null" && !v.Quoted && !figure:
				case figure && v.IsNumber():
					l.Figures = append(l.Figures, v.Figure(v.Path, "", unit))
				default:
					l.Settings = append(l.Settings, stated.Setting{Name: v.Path, Value: v.Text})
				}
			}
			r.Levels = append(r.Levels, l)
		},
	}}}
}

// unitOf returns the unit of a member; figure is false for settings. The latencies of the benchmark, in ms, became seconds, and a time per
// output token also its reciprocal, the interactivity.
func unitOf(name string) (unit string, figure bool) {
	if strings.HasSuffix(name, "tput_per_gpu") {
		return "tokens/s/GPU", true
	}
	statistic, metric, ok := strings.Cut(name, "_")
	if !ok || statistic != "mean" && statistic != "median" && statistic != "std" && strings.Trim(statistic, "p.0123456789") != "" {
		return "", false
	}
	switch {
	case metric == "intvty":
		return "tokens/s/user", true
	case slices.Contains([]string{"ttft", "tpot", "itl", "e2el"}, metric):
		return "s", true
	}
	return "", false
}
