package plot

import (
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/svg"
)

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
		s.Points = append(s.Points, svg.Point{X: p.UserRate, Y: p.Rate, Label: p.Value, Title: title})
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
