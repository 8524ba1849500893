package serving

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// statements are the results of the tools without their columns, and in arrays as vllm bench sweep writes them.
func statements() (all []resultfile.Statement) {
	for _, t := range []struct {
		tool    *fileTool
		dialect string
		has     string // a member that only the release of the dialect writes; "" for none
	}{
		{&vllmTool, "vllm", ""},
		{&vllmRustTool, "", ""},
		{&sglangTool, "sglang", ""},
		{&trtllmTool, "trtllm-1.0", "mean_request_ar"},
		{&trtllmTool, "trtllm-main", ""},
	} {
		all = append(all, resultfile.Statement{
			Definitions: t.tool.name, Dialect: t.dialect,
			Is: func(o *resultfile.Object) bool {
				if !o.Has("duration", "completed") || !o.Has("request_throughput") && !o.Has("total_input_tokens") {
					return false
				}
				tool := toolOf(func(name string) bool { return o.Has(name) }, true)
				return tool == t.tool && (t.has == "" || o.Has(t.has))
			},
			Read: func(o *resultfile.Object, r *stated.Result) {
				r.Model, r.Began = cmp.Or(r.Model, o.Text("model_id")), cmp.Or(r.Began, o.Text("date"))
				r.Levels = append(r.Levels, statedLevel(o))
			},
		})
	}
	return all
}

// statedLevel returns the level of a result with the figures that it states.
func statedLevel(o *resultfile.Object) stated.Level {
	e := loadOf(func(name string) float64 {
		v, ok := o.Value(name)
		switch rate, err := resultfile.ParseFloat([]byte(v.Text)); {
		case v.Quoted && err == nil: // "inf"
			return rate
		case ok && v.Text == "null" && name == "request_rate": // Python's Infinity
			return math.Inf(1)
		}
		return v.Number
	}, o.Text)
	l := stated.Level{Mode: e.Mode, Value: e.Value}
	for i := range o.Values {
		v := &o.Values[i]
		statistic, metric, latency := splitFigure(v.Path)
		switch {
		case strings.Contains(v.Path, "."):
		case latency && v.IsNumber():
			l.Figures = append(l.Figures, v.Figure(metric, statistic, "ms"))
		case strings.HasSuffix(v.Path, "_request_ar") && v.IsNumber(): // accepted tokens of speculation, of TensorRT-LLM
			statistic, metric, _ = strings.Cut(v.Path, "_")
			l.Figures = append(l.Figures, v.Figure(metric, statistic, ""))
		case isFigure(v.Path) && v.IsNumber():
			l.Figures = append(l.Figures, v.Figure(v.Path, "", unitOf(v.Path)))
		case isLoad(v.Path, e.Mode), v.Path == "date", v.Text == "null" && !v.Quoted:
		default:
			l.Settings = append(l.Settings, stated.Setting{Name: v.Path, Value: v.Text})
		}
	}
	return l
}

// isLoad reports whether a member is the load of a level of that mode.
func isLoad(name, mode string) bool {
	return name == "request_rate" && mode == export.ModeRequestRate || name == "max_concurrency" && mode == export.ModeConcurrency
}

// isFigure reports whether a member that is no latency is a figure, unlike settings.
func isFigure(name string) bool {
	return name != "max_concurrency" && slices.ContainsFunc(figureNames, func(part string) bool { return strings.Contains(name, part) })
}

// unitOf returns the unit of a figure that has none in its name, as the console of the tools prints it.
func unitOf(name string) string {
	switch {
	case name == "duration":
		return "s"
	case name == "request_throughput", strings.TrimSuffix(name, ":") == "request_goodput": // TensorRT-LLM writes "request_goodput:"
		return "requests/s"
	case strings.HasSuffix(name, "_throughput"), strings.HasSuffix(name, "_per_s"):
		return "tokens/s"
	}
	return ""
}
