package plot

import (
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

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

// Figures are the figures that Scatter can show.
var Figures = []Figure{
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
	for i := range Figures {
		if Figures[i].Name == name {
			return &Figures[i], nil
		}
		names = append(names, Figures[i].Name)
	}
	return nil, fmt.Errorf("%q is no figure of a request; give one of %s", name, strings.Join(names, ", "))
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
