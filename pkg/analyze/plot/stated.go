package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/analyze/svg"
)

// mostStatedPanels is the number of figures that a chart of stated figures shows at most.
const mostStatedPanels = 12

// Stated draws figures that results state: against their load, a series for each result, or over the results, a series for each level.
// names choose the figures, such as "ttft p99"; without names rates and the p99, or means, of latencies are drawn. The error names a
// figure that no result states.
func Stated(t *stated.Trend, overResults bool, names []string, o Options) (*svg.Figure, error) {
	if len(names) == 0 {
		names = usualFigures(t)
	}
	width, columns := o.wide()
	tool := t.Results[0].Definitions
	f := &svg.Figure{
		Title: "Figures of " + tool, Subtitle: "As " + tool + " states them, without intervals.", Width: width, Columns: columns,
		Desc: "A panel for each figure that the files state.", Notes: t.Notes,
	}
	labels := shortNames(t.Labels)
	x, seriesNames := svg.Axis{Scale: svg.Names, Names: labels}, []string(nil)
	for i := range t.Levels {
		seriesNames = append(seriesNames, t.Levels[i].Name)
	}
	var at []float64 // of the levels
	if !overResults {
		x, at = loadAxis(t.Levels)
		seriesNames = labels
		several := func(r *stated.Result) bool { return len(r.Levels) > 1 }
		if len(t.Levels) == len(t.Results) && !slices.ContainsFunc(t.Results, several) { // a file for each level
			seriesNames = []string{tool}
		}
	}
	if len(names) > mostStatedPanels {
		f.Notes = append(slices.Clone(f.Notes), fmt.Sprintf("%d of %d figures are shown; --figure chooses others", mostStatedPanels, len(names)))
		names = names[:mostStatedPanels]
	}
	for _, name := range names {
		p := svg.Panel{Title: name, X: x, Y: svg.Axis{Include: []float64{0}}}
		series := make([]svg.Series, len(seriesNames))
		for i, n := range seriesNames {
			series[i] = svg.Series{Name: n, Style: i}
		}
		found := false
		for i := range t.Levels {
			row := t.Levels[i].Named(name)
			if row == nil {
				continue
			}
			found = true
			if first, _ := row.First(); first.Unit != "" && !strings.Contains(p.Title, " (") {
				p.Title += " (" + first.Unit + ")"
			}
			for k, g := range row.Figures {
				if g == nil || math.IsNaN(g.Value) {
					continue
				}
				point, of := svg.Point{X: float64(k), Y: g.Value, Title: labels[k] + " " + t.Levels[i].Name}, i
				if !overResults {
					point.X, of = at[i], min(k, len(series)-1)
				}
				series[of].Points = append(series[of].Points, point)
			}
		}
		if !found {
			return nil, fmt.Errorf("no file states a figure %q; report lists the figures: a metric and its statistic, such as %q", name, "ttft p99")
		}
		for i := range series {
			slices.SortStableFunc(series[i].Points, func(a, b svg.Point) int { return int(math.Copysign(1, a.X-b.X)) })
		}
		p.Series = series
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}

// usualFigures returns the names of rates, and of the p99 of latencies, or of their mean where there is none.
func usualFigures(t *stated.Trend) (names []string) {
	all := map[string]bool{}
	var ordered []*stated.Figure
	for i := range t.Levels {
		for j := range t.Levels[i].Rows {
			f, _ := t.Levels[i].Rows[j].First()
			if !all[f.Name()] {
				all[f.Name()] = true
				ordered = append(ordered, f)
			}
		}
	}
	isTime := func(unit string) bool { return unit == "ms" || unit == "s" || unit == "ns" || unit == "sec" }
	for _, f := range ordered {
		mean := f.Statistic == "mean" || f.Statistic == "avg" || f.Statistic == "average"
		switch {
		case f.Statistic == "" && strings.Contains(f.Unit, "/s"), f.Statistic == "p99" && isTime(f.Unit), mean && isTime(f.Unit) && !all[f.Metric+" p99"]:
			names = append(names, f.Name())
		}
	}
	if names == nil {
		for _, f := range ordered {
			names = append(names, f.Name())
		}
	}
	return names
}

// loadAxis returns the axis of levels, and their places: numbers if all loads are numbers of one kind, otherwise names.
func loadAxis(levels []stated.TrendLevel) (axis svg.Axis, at []float64) {
	numeric := true
	for i := range levels {
		l := &levels[i]
		v, err := strconv.ParseFloat(l.Value, 64)
		numeric = numeric && err == nil && v > 0 && !math.IsInf(v, 0) && l.Mode == levels[0].Mode
		at = append(at, v)
		axis.Names = append(axis.Names, l.Name)
	}
	if numeric && len(levels) > 0 {
		ticks := slices.Clone(at)
		slices.Sort(ticks)
		return numberAxis(levels[0].Mode, slices.Compact(ticks)), at
	}
	axis.Label, axis.Scale = "load", svg.Names
	for i := range at {
		at[i] = float64(i)
	}
	return axis, at
}

// numberAxis returns the axis of loads of one mode.
func numberAxis(mode string, values []float64) svg.Axis {
	axis := svg.Axis{Label: strings.ReplaceAll(mode, "_", " "), Ticks: values}
	if len(values) > mostLoads {
		axis.Ticks = nil
	}
	if values[len(values)-1] > 8*values[0] {
		axis.Scale = svg.Log
	}
	return axis
}
