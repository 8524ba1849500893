package trtllmbench

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// ResultFile describes the reports of trtllm-bench.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Stated: []resultfile.Statement{{
		Definitions: "trtllm-bench",
		Rates:       stated.Rates{User: "output_throughput_per_user_tok_s", GPU: "output_throughput_per_gpu_tok_s", PerGPU: true},
		Is: func(o *resultfile.Object) bool {
			return o.Has("engine.model", "world_info.tp_size", "performance.request_throughput_req_s")
		},
		Sniff: func(o *resultfile.Outline) bool { return o.First == "engine" && o.Has("world_info") },
		Read: func(o *resultfile.Object, r *stated.Result) {
			r.Model, r.Release = o.Text("engine.model"), o.Text("engine.version")
			l := stated.Level{Figures: resultfile.NestedFigures(o, unitOf)}
			for i := range l.Figures {
				f := &l.Figures[i]
				f.Metric = f.Metric[strings.IndexByte(f.Metric, '.')+1:]
			}
			isMeasured := func(name string) bool { return name == "issue_rate" }
			for _, part := range []string{"world_info.", "dataset."} {
				l.Settings = append(l.Settings, o.Settings(part, isMeasured)...)
			}
			r.Levels = append(r.Levels, l)
		},
	}}}
}

// unitOf returns the unit of a metric; keep is false for settings.
func unitOf(metric string) (unit string, keep bool) {
	part, name, _ := strings.Cut(metric, ".")
	switch part {
	case "performance", "streaming_metrics", "request_info", "decoding_stats":
	default:
		return "", metric == "world_info.issue_rate"
	}
	switch {
	case strings.HasSuffix(name, "_req_s"):
		return "requests/s", true
	case strings.HasSuffix(name, "_tok_s"), name == "gen_tps_percentiles":
		return "tokens/s", true
	case strings.HasSuffix(name, "_ms"), name == "tpot_percentiles", name == "ttft_percentiles":
		return "ms", true
	}
	return "", true
}
