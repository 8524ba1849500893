package plot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/trend"
)

// shortLevel returns the label of a level in a chart that names its kind of load: the number, or the name for a load of
// sessions or a schedule, whose number is 0.
func shortLevel(value, name string) string {
	if v, err := strconv.ParseFloat(value, 64); err == nil && v == 0 {
		return name
	}
	return value
}

// Pareto draws the speed for a user against the throughput of a GPU, and the frontier of all files.
func Pareto(res *pareto.Result, o Options) *svg.Figure {
	var files []string
	for i := range res.Points {
		if p := &res.Points[i]; i == 0 || p.File != res.Points[i-1].File {
			files = append(files, p.File)
		}
	}
	names := shortNames(files)
	var series []svg.Series
	lacking, why := 0, ""
	for i := range res.Points {
		p := &res.Points[i]
		if i == 0 || p.File != res.Points[i-1].File {
			series = append(series, named(names, len(series), svg.LinePoints, nil))
		}
		if p.Why != "" {
			lacking++
			why = p.Why
			continue
		}
		s := &series[len(series)-1]
		title := p.Level
		if p.Frontier {
			title += ", on the frontier"
		}
		s.Points = append(s.Points, svg.Point{X: p.UserRate, Y: p.Rate, Label: shortLevel(p.Value, p.Level), Title: title})
	}
	frontier := svg.Series{Name: "frontier", Style: len(series), Shape: svg.Lines}
	// No level is at least as good in both rates as a place above the steps, which the area below them
	// measures.
	for k, i := range res.All.Points {
		p := &res.Points[i]
		if k > 0 {
			frontier.Points = append(frontier.Points, svg.Point{X: res.Points[res.All.Points[k-1]].UserRate, Y: p.Rate})
		}
		frontier.Points = append(frontier.Points, svg.Point{X: p.UserRate, Y: p.Rate})
	}
	if len(res.All.Points) > 1 {
		series = append(series, frontier)
	}
	if len(files) == 1 && len(series) > 1 {
		series[0].Name = "levels"
	}
	subtitle := fmt.Sprintf("%s on the frontier, of %d.", plural.Of(len(res.All.Points), "level"), len(res.Points)-lacking)
	if res.All.Knee >= 0 {
		knee := &res.Points[res.All.Knee]
		at := knee.Level
		if len(files) > 1 {
			at += " of " + names[slices.Index(files, knee.File)]
		}
		subtitle += " The knee is " + at + "."
	}
	f := &svg.Figure{
		Title: "Speed for a user against throughput", Width: o.Width, Subtitle: subtitle,
		Desc:  "Each mark is a load level. No level is better in both rates than a level on the frontier.",
		Notes: res.Notes,
		Panels: []svg.Panel{{
			Height: 360, X: svg.Axis{Label: res.UserRateName(), Include: []float64{0}}, Y: svg.Axis{Label: res.RateName(), Include: []float64{0}},
			Series: series, NoData: why,
		}},
	}
	if lacking > 0 && lacking < len(res.Points) {
		f.Notes = append(f.Notes, fmt.Sprintf("%s without both rates: %s", plural.Of(lacking, "level"), why))
	}
	return f
}

// units are the units of metrics that an axis shows.
var units = map[string]svg.Unit{diff.Nanoseconds: svg.Nanoseconds, diff.Share: svg.Share}

// mostTrends is the number of panels of a trend at most.
const mostTrends = 24

// Trend draws the primary metrics of each level over the points, with their intervals and the steps where
// they changed.
func Trend(res *trend.Result, o Options) *svg.Figure {
	width, columns := o.wide()
	var labels []string
	runs := 0
	for i := range res.Points {
		labels = append(labels, res.Points[i].Label)
		runs += len(res.Points[i].Runs)
	}
	labels = shortNames(labels)
	f := &svg.Figure{
		Title: "Metrics over " + plural.Of(len(labels), "point"), Width: width, Columns: columns,
		Desc: "The value of each point in the order of time or of the labels. A line marks a step where the metric changed.",
	}
	leftOut, bars := 0, false
	for _, l := range res.Levels {
		for _, row := range l.Rows {
			if !row.Metric.Primary {
				continue
			}
			if len(f.Panels) == mostTrends {
				leftOut++
				continue
			}
			p := svg.Panel{
				Title: row.Metric.Name, Height: 150, NoData: "no point has a value",
				X: svg.Axis{Scale: svg.Names, Names: labels}, Y: svg.Axis{Unit: units[row.Metric.Unit], Include: []float64{0}},
			}
			if len(res.Levels) > 1 {
				p.Title += ", " + l.Name
			}
			s := svg.Series{}
			for k, v := range row.Values {
				bars = bars || v.Interval.Low < v.Interval.High
				s.Points = append(s.Points, svg.Point{X: float64(k), Y: v.Mean, YInterval: svg.Interval{Low: v.Interval.Low, High: v.Interval.High}, Title: plural.Of(len(v.Runs), "run")})
			}
			p.Series = []svg.Series{s}
			for _, step := range row.Steps {
				p.Lines = append(p.Lines, svg.Line{Vertical: true, At: float64(step.At) - 0.5, Label: sheet.Change(step.Change)})
			}
			f.Panels = append(f.Panels, p)
		}
	}
	f.Subtitle = sentences(plural.Of(runs, "run")+".", upper(strings.TrimSuffix(res.Headline(), "."))+".")
	if bars {
		f.Subtitle = sentences(f.Subtitle, "Bars are 95 % intervals of the mean of runs.")
	}
	if leftOut > 0 {
		f.Subtitle = sentences(f.Subtitle, fmt.Sprintf("%s left out; --experiment chooses levels.", plural.Of(leftOut, "panel")))
	}
	if f.Panels == nil {
		f.Panels = []svg.Panel{{NoData: "no metric has a value", X: svg.Axis{Scale: svg.Names}}}
	}
	return f
}
