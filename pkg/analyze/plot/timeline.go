package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

const (
	binsOfRun    = 160 // bins of a rate in the time of the longest run
	mostChanges  = 800 // points of a step function
	mostStarts   = 600 // requests of a panel
	panelHeight  = 110 // of a panel of a timeline
	mostBoundary = 16  // boundaries between levels
)

// Timeline draws the figures of runs over time: requests in flight, rates, the TTFT of single
// requests, and what the server reported. The time 0 is the start of each run.
func Timeline(runs []*view.Run, o Options) *svg.Figure {
	f := &svg.Figure{Title: "Over time", Width: o.Width}
	names := runNames(runs)
	var notes []string
	note := func(s string) {
		if s != "" && !slices.Contains(notes, s) {
			notes = append(notes, s)
		}
	}
	end := 0.0
	for _, r := range runs {
		for i := range r.Levels {
			end = max(end, float64(r.Levels[i].ToNS))
		}
	}
	for _, g := range gaugesOf(runs) {
		if n := len(g.AtNS); n > 0 {
			end = max(end, float64(g.AtNS[n-1]))
		}
	}
	add := func(title, unit, reason string, series []svg.Series) {
		f.Panels = append(f.Panels, svg.Panel{
			Title: title, Height: panelHeight, NoData: reason, Series: series,
			X: svg.Axis{Unit: svg.Nanoseconds, Tight: true, Include: []float64{0, end}},
			Y: svg.Axis{Unit: svg.Unit(unit), Include: []float64{0}},
		})
	}
	var widths []float64
	for _, k := range []struct{ key, title, unit string }{
		{view.InFlight, "Requests in flight", "requests"},
		{view.OutputTokens, "Output tokens", "tokens/s"},
		{view.Completed, "Completed requests", "requests/s"},
		{view.Failed, "Failed requests", "requests/s"},
	} {
		var series []svg.Series
		found := false
		for i, r := range runs {
			points := ofLevels(r, k.key, end/binsOfRun, note)
			for j := range r.Levels {
				for _, s := range r.Levels[j].Series {
					if s.Key == k.key && s.BinNS > 0 {
						widths = append(widths, float64(s.BinNS)*float64(joinedBins(&s, end/binsOfRun)))
					}
				}
			}
			found = found || points != nil
			series = append(series, named(names, i, svg.Steps, points))
		}
		if found || k.key != view.Failed {
			add(k.title, k.unit, whyUntimed(runs, why(runs, "throughput", "not known")), series)
		}
	}
	note(widthNote(widths))
	f.Panels = append(f.Panels, firstTokens(runs, names, end, note))
	telemetry(runs, names, note, add)
	note(boundaries(runs, f))
	last := &f.Panels[len(f.Panels)-1]
	last.X.Label = "time since the start of the run"
	f.Subtitle = sentences(append([]string{requests(runs)}, notes...)...)
	f.Desc = "Requests in flight, rates and first tokens over the time of the run."
	return f
}

// named returns the series of run i, which has a name if there are several runs.
func named(names []string, i int, shape svg.Shape, points []svg.Point) svg.Series {
	s := svg.Series{Style: i, Shape: shape, Points: points}
	if len(names) > 1 {
		s.Name = names[i]
	}
	return s
}

// ofLevels returns the points of a series over all levels of a run, with a gap between levels.
func ofLevels(r *view.Run, key string, binNS float64, note func(string)) (all []svg.Point) {
	for i := range r.Levels {
		for j := range r.Levels[i].Series {
			s := &r.Levels[i].Series[j]
			if s.Key != key {
				continue
			}
			points := courseOf(s, joinedBins(s, binNS), changesOf(len(r.Levels)), note)
			if all != nil && points != nil {
				all = append(all, svg.Point{X: points[0].X, Y: math.NaN()})
			}
			all = append(all, points...)
		}
	}
	return all
}

// changesOf returns the number of points of a step function at each of so many levels.
func changesOf(levels int) int {
	return max(mostChanges/levels, min(60, 6000/levels), 4)
}

// joinedBins returns how many bins of a series make about binNS.
func joinedBins(s *view.Series, binNS float64) int {
	if s.BinNS <= 0 {
		return 1
	}
	return max(1, int(math.Round(binNS/float64(s.BinNS))))
}

// widthNote says over what times rates are means.
func widthNote(widths []float64) string {
	if widths == nil {
		return ""
	}
	from, to := duration(slices.Min(widths)), duration(slices.Max(widths))
	if from == to {
		return "Rates are means over " + from + "."
	}
	return "Rates are means over " + from + " to " + to + "."
}

// courseOf returns the points of a series: the means of each so many bins, or of changes at most about
// mostChanges.
func courseOf(s *view.Series, each, mostChanges int, note func(string)) []svg.Point {
	n := len(s.AtNS)
	if n == 0 {
		return nil
	}
	if s.BinNS == 0 {
		var all []mark
		for i := range s.AtNS {
			all = append(all, mark{x: float64(s.AtNS[i]), y: s.Value[i]})
		}
		kept, leftOut := thin(all, mostChanges)
		if leftOut > 0 || s.LeftOut > 0 {
			note("Of values that change often, the lowest and the highest of each stretch of time are drawn.")
		}
		return points(kept)
	}
	var all []svg.Point
	for i := 0; i < n; i += each {
		sum, known := 0.0, 0
		for _, v := range s.Value[i:min(i+each, n)] {
			if !math.IsNaN(v) {
				sum, known = sum+v, known+1
			}
		}
		all = append(all, svg.Point{X: float64(s.AtNS[i]), Y: sum / float64(known)})
	}
	last := all[len(all)-1]
	last.X = float64(s.AtNS[n-1] + s.BinNS)
	return append(all, last)
}

// duration returns a time in two digits: "0.5 s".
func duration(ns float64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= 0.1*u.ns {
			return fmt.Sprintf("%.2g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// firstTokens returns the panel with the TTFT of single requests.
func firstTokens(runs []*view.Run, names []string, end float64, note func(string)) svg.Panel {
	var series []svg.Series
	leftOut := 0
	for i, r := range runs {
		n := 0
		for j := range r.Levels {
			n += len(r.Levels[j].Requests)
		}
		marks := make([]mark, 0, n)
		for j := range r.Levels {
			l := &r.Levels[j]
			leftOut += l.LeftOut
			for k := range l.Requests {
				if q := l.Requests[k]; q.Excluded == "" && q.TTFTNS != view.Absent && q.StartNS != view.Absent {
					marks = append(marks, mark{float64(q.StartNS), float64(q.TTFTNS), q.ID})
				}
			}
		}
		kept, n := thin(marks, mostStarts/len(runs))
		leftOut += n
		series = append(series, named(names, i, svg.Points, requestPoints(kept)))
	}
	if leftOut > 0 {
		note(fmt.Sprintf("TTFT: drawn without %s, but with the fastest and the slowest of each stretch of time.", plural.GroupedOf(leftOut, "request")))
	}
	return svg.Panel{
		Title: "TTFT by start", Height: panelHeight, Series: series, NoData: whyUntimed(runs, why(runs, "ttft_ns", "no request has one")),
		X: svg.Axis{Unit: svg.Nanoseconds, Tight: true, Include: []float64{0, end}}, Y: latencyAxis("", ys(series)),
	}
}

// boundaries marks where the levels of a single run begin. The note says that there are too many.
func boundaries(runs []*view.Run, f *svg.Figure) (note string) {
	if len(runs) != 1 || len(runs[0].Levels) < 2 {
		return ""
	}
	if n := len(runs[0].Levels); n > mostBoundary {
		return fmt.Sprintf("The starts of the %s levels are not marked: only up to %d are.", plural.Grouped(n), mostBoundary)
	}
	for i := range f.Panels {
		for j := range runs[0].Levels {
			l := &runs[0].Levels[j]
			if l.FromNS == view.Absent {
				continue
			}
			line := svg.Line{Vertical: true, At: float64(l.FromNS), Quiet: true}
			switch {
			case i > 0:
			case j > 0 && l.Experiment.Mode == runs[0].Levels[j-1].Experiment.Mode && l.Experiment.Value != "":
				line.Label = shortLevel(l.Experiment.Value, report.LevelName(l.Experiment))
			default:
				line.Label = report.LevelName(l.Experiment)
			}
			f.Panels[i].Lines = append(f.Panels[i].Lines, line)
		}
	}
	return ""
}

// gauges are the gauges of servers and GPUs that a timeline shows, by the names of the report,
// in order.
var gauges = []string{"running requests", "waiting requests", "KV cache usage", "GPU utilization", "GPU power"}

// mostGauges is the number of series in a panel of gauges at most.
const mostGauges = 8

// A gauge is a series of telemetry of a run.
type gauge struct {
	run int
	*view.Series
}

// gaugesOf returns the series of all runs that the timeline shows.
func gaugesOf(runs []*view.Run) (all []gauge) {
	for i, r := range runs {
		for j := range r.Telemetry {
			if s := &r.Telemetry[j]; slices.Contains(gauges, s.Quantity) {
				all = append(all, gauge{i, s})
			}
		}
	}
	return all
}

// telemetry calls add with each known gauge that a run has.
func telemetry(runs []*view.Run, names []string, note func(string), add func(title, unit, reason string, series []svg.Series)) {
	all := gaugesOf(runs)
	for _, name := range gauges {
		var some []gauge
		perRun := make([]int, len(runs))
		for _, g := range all {
			if g.Quantity == name {
				some = append(some, g)
				perRun[g.run]++
			}
		}
		n := max(len(some)-mostGauges, 0)
		some = some[:len(some)-n]
		for _, r := range runs {
			for _, l := range r.TelemetryLeftOut {
				if l.Quantity == name {
					n += l.Series
				}
			}
		}
		if n > 0 {
			note(fmt.Sprintf("%s: %s more series %s not drawn.", upper(name), plural.Grouped(n), plural.Form(n, "is", "are")))
		}
		if some == nil {
			continue
		}
		unit := some[0].Unit
		switch unit {
		case "ratio":
			unit = string(svg.Share)
		case "count":
			unit = ""
		}
		var series []svg.Series
		for k, g := range some {
			points := courseOf(g.Series, 1, mostChanges/len(some), note)
			s := named(names, g.run, svg.Lines, points)
			if perRun[g.run] > 1 {
				// A style of its own, and the labels that tell it from the others.
				s.Style = len(runs) + k
				s.Name = strings.TrimSpace(s.Name + " " + name + " " + labelsOf(g.Series))
			}
			series = append(series, s)
		}
		add(upper(name), unit, "", series)
	}
}

// labelsOf returns the labels of a series, else its source.
func labelsOf(s *view.Series) string {
	if _, labels, ok := strings.Cut(s.Key, "{"); ok {
		return strings.TrimSuffix(labels, "}")
	}
	return s.Source
}
