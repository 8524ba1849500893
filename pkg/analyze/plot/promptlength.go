package plot

import (
	"cmp"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
)

// PromptLength draws the first-token and the token-to-token latency of runs against the length of their
// prompts, as the guide "Benchmarking LLM" of perf_analyzer does: a run for each length. A mark is the
// mean of a level, and its bar reaches from p10 to p90. Levels of the same load in several runs are joined.
func PromptLength(runs []*view.Run, o Options) *svg.Figure {
	width, columns := o.wide()
	f := &svg.Figure{
		Title: "Latency against prompt length", Width: width, Columns: columns,
		Subtitle: sentences(requests(runs), "Marks are means, bars reach from p10 to p90."),
		Desc:     "The mean time to the first token and the mean gap between tokens of each run against its mean number of input tokens.",
	}
	names := runNames(runs)
	loads, index := levelNames(runs)
	for _, m := range [...]answer.Metric{answer.TTFT, answer.ITL} {
		series := make([]svg.Series, len(loads))
		for i, load := range loads {
			series[i] = svg.Series{Style: i}
			if len(loads) > 1 {
				series[i].Name = load
			}
		}
		known := false
		for i, r := range runs {
			for j := range r.Levels {
				e := r.Levels[j].Experiment
				input, y := e.Metric(answer.InputTokens), e.Metric(m)
				known = known || input != nil
				if input == nil || y == nil {
					continue
				}
				p := svg.Point{X: input.Mean, Y: y.Mean, YInterval: svg.Interval{Low: y.P(10), High: y.P(90)}, Title: names[i] + ", " + plural.GroupedOf(y.N, "value")}
				s := &series[index[report.LevelName(e)]]
				s.Points = append(s.Points, p)
			}
		}
		for i := range series {
			slices.SortStableFunc(series[i].Points, func(a, b svg.Point) int { return cmp.Compare(a.X, b.X) })
		}
		reason := why(runs, m.Key(), "no request has one")
		if !known {
			reason = "the server states no number of input tokens"
		}
		title := map[answer.Metric]string{answer.TTFT: "First token", answer.ITL: "Token to token"}[m]
		f.Panels = append(f.Panels, svg.Panel{
			Title: title, X: svg.Axis{Label: "mean input tokens", Include: []float64{0}}, Y: svg.Axis{Label: "mean " + m.Label(), Unit: svg.Nanoseconds, Include: []float64{0}},
			Series: series, NoData: reason,
		})
	}
	return f
}
