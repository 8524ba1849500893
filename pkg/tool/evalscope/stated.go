package evalscope

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// EvalScope writes two files for each load, whose members have their units in their names:
//
//	{"Test Duration (s)":T,"Concurrency":N,"Request Rate (req/s)":R,"Total Requests":N,"Avg TTFT (ms)":T,…}
//	[{"Percentiles":"50%","Latency (s)":T,"TTFT (ms)":T,…},…]
//
// Before 1.5 some names of the first are longer, such as "Time taken for tests (s)" and "Average time to first token (s)", and the
// second has the time to the first token in seconds.

// Names of members, the newest first, and the words with which names of averages begin.
var (
	durations     = []string{"Test Duration (s)", "Time taken for tests (s)"}
	concurrencies = []string{"Concurrency", "Number of concurrency"}
	rates         = []string{"Request Rate (req/s)", "Request rate (req/s)"}
	averages      = []string{"Avg ", "Average "}
)

// percentiles names the statistic of an element of the second file.
const percentiles = "Percentiles"

const toolName = "EvalScope perf"

// ResultFile describes the files of EvalScope.
func ResultFile() resultfile.Kind {
	sniff := func(o *resultfile.Outline) bool {
		return !o.Array && (o.Has(durations[0], "Success Requests") || o.Has(durations[1], "Succeed requests")) || o.Array && o.Has(percentiles, "Latency (s)")
	}
	type outline = *resultfile.Outline
	return resultfile.Kind{Beside: resultfile.Neighbours(toolName, "benchmark_summary.json from the same folder", []resultfile.Neighbour{
		{What: "workload_throughput.json", Holds: "rates of parts of the run", Is: func(o outline) bool { return o.Has("n_samples", "wall_time_s") }},
		{What: "workload_timeline.json", Holds: "sums of tokens over time", Is: func(o outline) bool { return o.HasElement("points", "cum_completion") }},
		{What: "benchmark_args.json", Holds: "settings", Is: func(o outline) bool { return !o.Array && o.Has("model_id", "attn_implementation", "parallel") }},
	}), Stated: []resultfile.Statement{{
		Definitions: toolName,
		Sniff:       sniff,
		Is: func(o *resultfile.Object) bool {
			return o.Has(durations[0], "Success Requests") || o.Has(durations[1], "Succeed requests") || o.Has(percentiles, "Latency (s)")
		},
		Read: read,
	}}}
}

// read reads a summary, or the element of a percentile.
func read(o *resultfile.Object, r *stated.Result) {
	l := stated.Level{}
	if v := first(o, rates); v.Number > 0 {
		l.Mode, l.Value = export.ModeRequestRate, v.Text
	} else if v := first(o, concurrencies); v.Number > 0 {
		l.Mode, l.Value = export.ModeConcurrency, v.Text
	}
	of := o.Text(percentiles)
	if of != "" && r.Notes == nil {
		r.Notes = []string{"the load is in benchmark_summary.json beside the file"}
	}
	for _, v := range o.Values {
		if slices.Contains(concurrencies, v.Path) || slices.Contains(rates, v.Path) {
			continue
		}
		metric, unit := v.Path, ""
		if at := strings.LastIndex(metric, " ("); at > 0 && strings.HasSuffix(metric, ")") {
			metric, unit = metric[:at], metric[at+2:len(metric)-1]
		}
		statistic := of
		for _, average := range averages {
			if rest, ok := strings.CutPrefix(metric, average); ok {
				metric, statistic = rest, strings.TrimSpace(average)
			}
		}
		if v.IsNumber() {
			l.Figures = append(l.Figures, v.Figure(metric, statistic, unit))
		}
	}
	resultfile.Append(r, l)
}

// first returns the value of the first of these names that o has.
func first(o *resultfile.Object, names []string) resultfile.Value {
	for _, name := range names {
		if v, ok := o.Value(name); ok {
			return v
		}
	}
	return resultfile.Value{}
}
