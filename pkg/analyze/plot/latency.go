package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
)

// marked are the percentiles that have a marker.
var marked = []float64{50, 90, 99, 99.9, 99.99}

// CDF draws the distributions of TTFT, ITL, TPOT and E2EL: the value of each percentile, on an axis on
// which 90, 99 and 99.9 % are equally far apart. A curve ends at its largest value, which of n values is
// at 1 − 1/n.
func CDF(runs []*view.Run, o Options) *svg.Figure {
	width, columns := o.wide()
	all, note := curves(runs, mostCurves)
	f := &svg.Figure{
		Title: "Latencies by percentile", Width: width, Columns: columns,
		Subtitle: sentences(requests(runs), "Percentiles are exact; each curve ends at its largest value.", note),
		Desc:     "The value that a percentile of all values does not exceed, for TTFT, ITL, TPOT and E2EL.",
	}
	for _, m := range [...]answer.Metric{answer.TTFT, answer.ITL, answer.TPOT, answer.E2EL} {
		var series []svg.Series
		var counts []int
		for _, c := range all {
			for i := range c.level.Distributions {
				if d := &c.level.Distributions[i]; d.Metric == m {
					series = append(series, svg.Series{Name: c.name, Style: c.style, Shape: svg.Lines, Points: percentiles(d.Summary)})
					counts = append(counts, d.Summary.N)
				}
			}
		}
		p := svg.Panel{
			X: svg.Axis{Label: "percentile", Scale: svg.Tail, Include: []float64{0}}, Y: latencyAxis(m.Label(), ys(series)),
			Series: series, Lines: limits(runs, m), Aside: numbers(counts), NoData: why(runs, m.Key(), "no request has one"),
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// percentiles returns the curve of a distribution.
func percentiles(s *summary.Summary) []svg.Point {
	end := 100 * (1 - 1/float64(s.N))
	var all []svg.Point
	for i, p := range summary.CurveLevels {
		if p >= end {
			break
		}
		at := svg.Point{X: p, Y: s.Curve.At(i)}
		if slices.Contains(marked, p) {
			at.Title = report.PercentileName(p) + " of " + plural.GroupedOf(s.N, "value")
		}
		all = append(all, at)
	}
	return append(all, svg.Point{X: end, Y: s.Max, Title: "largest of " + plural.GroupedOf(s.N, "value")})
}

// numbers returns "n 1,200", or the range of several.
func numbers(n []int) string {
	switch {
	case n == nil:
		return ""
	case slices.Min(n) == slices.Max(n):
		return "n " + plural.Grouped(n[0])
	}
	return fmt.Sprintf("n %s–%s", plural.Grouped(slices.Min(n)), plural.Grouped(slices.Max(n)))
}

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

// A Figure is a number of a single request that Scatter can show.
type Figure struct {
	Name  string // "ttft"
	label string
	unit  svg.Unit
	of    func(*view.Request) int64 // view.Absent if not known
}

// difference returns a − b; Absent if one of them is.
func difference(a, b int64) int64 {
	if a == view.Absent || b == view.Absent {
		return view.Absent
	}
	return a - b
}

// uncached is the default of the x axis.
const uncached, ttft = "uncached_tokens", "ttft"

// figures are the figures that Scatter can show.
var figures = []Figure{
	{ttft, "TTFT", svg.Nanoseconds, func(r *view.Request) int64 { return r.TTFTNS }},
	{"e2el", "E2EL", svg.Nanoseconds, func(r *view.Request) int64 { return r.E2ELNS }},
	{"decode", "first to last token", svg.Nanoseconds, func(r *view.Request) int64 { return difference(r.LastTokenNS, r.FirstNS) }},
	{"start", "start", svg.Nanoseconds, func(r *view.Request) int64 { return r.StartNS }},
	{"wait", "wait before the start", svg.Nanoseconds, func(r *view.Request) int64 { return difference(r.StartNS, r.BeginNS()) }},
	{"input_tokens", "input tokens", "", func(r *view.Request) int64 { return r.InputTokens }},
	{"cached_tokens", "cached input tokens", "", func(r *view.Request) int64 { return r.CachedTokens }},
	{uncached, "uncached input tokens", "", func(r *view.Request) int64 {
		p := view.Prompt{InputTokens: r.InputTokens, CachedTokens: r.CachedTokens}
		if r.InputTokens == view.Absent {
			return view.Absent
		}
		n, _ := p.Uncached()
		return n
	}},
	{"output_tokens", "output tokens", "", func(r *view.Request) int64 { return r.OutputTokens }},
}

// FindFigure returns the figure with a name. The error lists all names.
func FindFigure(name string) (*Figure, error) {
	var names []string
	for i := range figures {
		if figures[i].Name == name {
			return &figures[i], nil
		}
		names = append(names, figures[i].Name)
	}
	return nil, fmt.Errorf("%q is not a figure of a request; give one of %s", name, strings.Join(names, ", "))
}

// mostPoints is the number of requests that a scatter chart shows at most.
const mostPoints = 2000

// Scatter draws the successful requests by two figures of each. nil stands for the uncached input
// tokens as x and TTFT as y.
func Scatter(runs []*view.Run, x, y *Figure, o Options) *svg.Figure {
	if x == nil {
		x, _ = FindFigure(uncached)
	}
	if y == nil {
		y, _ = FindFigure(ttft)
	}
	all, note := curves(runs, mostCurves)
	f := &svg.Figure{Title: upper(y.label) + " against " + x.label, Width: o.Width, Desc: "A mark for each request."}
	leftOut, unstated, stated := 0, 0, 0
	var series []svg.Series
	for _, c := range all {
		var marks []mark
		named := points
		if x.Name == uncached && y.Name == ttft {
			// Prompts cover all requests of a level, Requests a sample.
			leftOut += c.level.PromptsLeftOut
			for i := range c.level.Prompts {
				n, _ := c.level.Prompts[i].Uncached()
				marks = append(marks, mark{x: float64(n), y: float64(c.level.Prompts[i].TTFTNS)})
				if c.level.Prompts[i].CachedTokens == view.Absent {
					unstated++
				} else {
					stated++
				}
			}
		} else {
			leftOut += c.level.LeftOut
			marks, named = ofRequests(c.level, x, y), requestPoints
		}
		kept, n := thin(marks, mostPoints/len(all))
		leftOut += n
		series = append(series, svg.Series{Name: c.name, Style: c.style, Shape: svg.Points, Points: named(kept)})
	}
	if len(series) == 1 {
		series[0].Name = ""
	}
	f.Subtitle = sentences(requests(runs), leftOutNote(leftOut), unstatedNote(x, unstated, stated), note)
	p := svg.Panel{
		Height: 360, Series: series,
		X: svg.Axis{Label: x.label, Unit: x.unit, Include: []float64{0}}, Y: svg.Axis{Label: upper(y.label), Unit: y.unit, Include: []float64{0}},
		NoData: "no successful request has both " + x.label + " and " + y.label,
	}
	if y.unit == svg.Nanoseconds {
		p.Y = latencyAxis(upper(y.label), ys(series))
	}
	f.Panels = []svg.Panel{p}
	return f
}

// upper begins a label with a capital letter.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func leftOutNote(n int) string {
	if n == 0 {
		return ""
	}
	return "Drawn without " + plural.GroupedOf(n, "request") + ", but with the lowest and the highest of each stretch of the x axis."
}

func unstatedNote(x *Figure, unstated, stated int) string {
	switch {
	case x.Name != uncached || unstated == 0:
		return ""
	case stated == 0:
		return "The server states no cached tokens, so all input tokens count as uncached."
	}
	return "All input tokens of " + plural.GroupedOf(unstated, "request") + " without stated cached tokens count as uncached."
}

// ofRequests returns the marks of the requests of a level that count and have both figures.
func ofRequests(l *view.Level, x, y *Figure) (all []mark) {
	for i := range l.Requests {
		r := l.Requests[i]
		a, b := x.of(r), y.of(r)
		if r.Excluded != "" || a == view.Absent || b == view.Absent {
			continue
		}
		all = append(all, mark{float64(a), float64(b), r.ID})
	}
	return all
}
