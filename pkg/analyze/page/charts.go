package page

import (
	"cmp"
	"html/template"
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/plot"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

// Widths of charts in pixels. Each panel is a picture of its own: a wide screen shows several in a row,
// a phone shows one in a row.
const (
	panelWidth = 420
	wideWidth  = 760 // of the picture for readers without JavaScript
)

// mostBytes bounds the heat maps and prompts, which take most of the bytes of a page of many levels.
const mostBytes = 3 << 20

// A drawing draws the charts of a page. Its pictures have ids of their own.
type drawing struct {
	pictures int
	bytes    int
	err      error
}

// draw draws a figure as a picture of the page.
func (d *drawing) draw(f *svg.Figure) template.HTML {
	d.pictures++
	html, err := render(func(w io.Writer) error { return f.WriteInline(w, "chart"+strconv.Itoa(d.pictures)) })
	d.err = cmp.Or(d.err, err)
	d.bytes += len(html)
	return html
}

// panels draws each panel of a figure as a picture.
func (d *drawing) panels(f *svg.Figure) (chartGroup, bool) {
	g := chartGroup{Note: f.Subtitle, Notes: f.Notes}
	drawn := false
	for i := range f.Panels {
		p := &f.Panels[i]
		title := cmp.Or(p.Title, p.Y.Label)
		p.Title = ""
		drawn = drawn || len(p.Series) > 0 || p.Cells != nil
		g.Charts = append(g.Charts, d.draw(&svg.Figure{Title: title, Desc: f.Desc, Width: panelWidth, Panels: f.Panels[i : i+1]}))
	}
	return g, drawn
}

// A chartGroup is a note and charts.
type chartGroup struct {
	Note   string
	Charts []template.HTML
	Notes  []string
}

// charts draws the charts.
func (d *document) charts(p *Page) error {
	var runs []*view.Run
	sweep := false
	for i := range p.Runs {
		run := *p.Runs[i].Run
		if p.Runs[i].Side != "" {
			run.Name = p.Runs[i].short // legends say which side a run is on
		}
		runs = append(runs, &run)
		sweep = sweep || len(p.Runs[i].Levels) > 1
	}
	x := &drawing{}
	if sweep {
		d.SweepCharts, _ = x.panels(plot.Sweep(runs, plot.Options{Width: panelWidth}))
		d.SweepCharts.Notes = nil // SweepNotes say more of each maximum load
	}
	if len(runs) > 0 {
		d.Distributions, _ = x.panels(plot.CDF(runs, plot.Options{Width: panelWidth}))
	}
	d.pareto(p, x)
	before := x.bytes
	bins := plot.BinsByName(runs)
	at := 0 // in d.Levels
	for i, r := range runs {
		for j := range p.Runs[i].detailed {
			l := &d.Levels[at]
			at++
			if l.TooLarge = x.bytes-before > mostBytes; l.TooLarge {
				continue
			}
			alone := *r
			alone.Levels = r.Levels[j : j+1]
			only := []*view.Run{&alone}
			if g, ok := x.panels(plot.Heatmap(only, plot.Options{Width: panelWidth, Bins: bins})); ok {
				l.Heatmaps = g
			}
			if len(r.Levels[j].Prompts) > 0 {
				f := plot.Scatter(only, nil, nil, plot.Options{Width: panelWidth})
				l.Prompts, _ = x.panels(f)
			}
		}
	}
	if len(runs) > 0 {
		f := plot.Timeline(runs, plot.Options{Width: wideWidth})
		d.Timeline = x.draw(f)
	}
	return x.err
}

// pareto draws the Pareto frontier, or says why there is none.
func (d *document) pareto(p *Page, x *drawing) {
	switch {
	case p.Pareto == nil || len(p.Pareto.Points) == 0:
		d.ParetoNotes = []string{"n/a (there is no load level)"}
		return
	case len(p.Pareto.All.Points) == 0:
		d.ParetoNotes = []string{"n/a (" + plain(p.Pareto.Points[0].Why) + ")"}
		return
	case len(p.Pareto.Points) == 1:
		d.ParetoNotes = []string{"a frontier needs several load levels, and there is one"}
		return
	}
	d.ParetoCharts = chartGroup{Charts: []template.HTML{x.draw(plot.Pareto(withSides(p), plot.Options{Width: panelWidth}))}}
}

// withSides returns the comparison of levels. In a comparison of two sides the names of its files say
// which side a run is on.
func withSides(p *Page) *pareto.Result {
	r := *p.Pareto
	r.Points = slices.Clone(r.Points)
	at := 0
	for i := range p.Runs { // the points are the levels, in the order of the runs
		for range p.Runs[i].Report.Experiments {
			if p.Runs[i].Side != "" {
				r.Points[at].File = p.Runs[i].short
			}
			at++
		}
	}
	return &r
}
