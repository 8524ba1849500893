package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
)

// Sweep draws throughput and tail latency against load. Runs with an objective add the share of
// requests that meet it, and a run alone the highest load that attains its target, with its interval.
func Sweep(runs []*view.Run, o Options) *svg.Figure {
	width, columns := o.wide()
	l := loadsOf(runs)
	f := &svg.Figure{
		Title: "Throughput and latency against load", Width: width, Columns: columns, Subtitle: sentences(requests(runs), l.note()),
		Desc: "Throughput, the percentiles of latencies and the share of requests that meet the objective, for each load level.",
	}
	names := runNames(runs)
	panel := func(title string, y svg.Axis, series []svg.Series, reason string) *svg.Panel {
		f.Panels = append(f.Panels, svg.Panel{Title: title, X: l.axis, Y: y, Series: series, NoData: reason})
		return &f.Panels[len(f.Panels)-1]
	}
	rate := func(title string, of func(*figure.Throughput) figure.Rate) {
		series := l.series(names, func(e *analyze.Experiment) float64 {
			if r := of(&e.Throughput); r.OK {
				return r.PerSecond
			}
			return math.NaN()
		}, report.LevelName)
		panel(title, svg.Axis{Include: []float64{0}}, series, why(runs, "throughput", "rates are not known"))
	}
	rate("Output tokens/s", func(t *figure.Throughput) figure.Rate { return t.OutputTokens })
	rate("Requests/s", func(t *figure.Throughput) figure.Rate { return t.Requests })
	for _, m := range [...]answer.Metric{answer.TTFT, answer.ITL, answer.TPOT, answer.E2EL} {
		pcts := []float64{50, 90, 99}
		if len(runs) > 1 {
			pcts = pcts[2:]
		}
		var series []svg.Series
		for i, pct := range pcts {
			some := l.series(names, func(e *analyze.Experiment) float64 {
				if s := e.Metric(m); s != nil {
					return s.P(pct)
				}
				return math.NaN()
			}, func(e *analyze.Experiment) string {
				return fmt.Sprintf("%s, %s of %s", report.LevelName(e), report.PercentileName(pct), plural.GroupedOf(e.Metric(m).N, "value"))
			})
			if len(runs) == 1 {
				some[0].Name, some[0].Style = report.PercentileName(pct), i+1
			}
			series = append(series, some...)
		}
		title := m.Label()
		if len(runs) > 1 {
			title += " p99"
		}
		p := panel(title, latencyAxis("", ys(series)), series, why(runs, m.Key(), "no request has one"))
		p.Lines = limits(runs, m)
	}
	if share := attained(runs, names, l); share != nil {
		f.Panels = append(f.Panels, *share)
	}
	f.Notes = maxLoadNotes(runs, names)
	for i := range f.Panels {
		f.Panels[i].Lines = append(f.Panels[i].Lines, maxLoad(runs, l, i == 0)...)
	}
	return f
}

// loads are the load levels of runs on one axis.
type loads struct {
	runs []*view.Run
	axis svg.Axis
	// names holds the places of the levels on an axis of categories; nil if all levels are numbers of one kind.
	names map[string]int
}

// loadsOf returns the axis of the loads: numbers if all levels are numbers of one mode, else names.
func loadsOf(runs []*view.Run) *loads {
	l := &loads{runs: runs}
	mode, numeric := "", true
	var values []float64
	for i, e := range experiments(runs) {
		v, err := strconv.ParseFloat(e.Value, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) || i > 0 && e.Mode != mode {
			numeric = false
		}
		mode = e.Mode
		values = append(values, v)
	}
	if !numeric || len(values) == 0 {
		var names []string
		names, l.names = levelNames(runs)
		l.axis = svg.Axis{Label: "load", Scale: svg.Names, Names: names}
		return l
	}
	slices.Sort(values)
	values = slices.Compact(values)
	l.axis = numberAxis(mode, values)
	return l
}

// experiments returns the levels of all runs.
func experiments(runs []*view.Run) (all []*analyze.Experiment) {
	for _, r := range runs {
		for i := range r.Levels {
			all = append(all, r.Levels[i].Experiment)
		}
	}
	return all
}

// levelNames returns the names of the levels of all runs, each once, and the index of each name.
func levelNames(runs []*view.Run) (names []string, index map[string]int) {
	index = map[string]int{}
	for _, e := range experiments(runs) {
		name := report.LevelName(e)
		if _, ok := index[name]; !ok {
			index[name] = len(names)
			names = append(names, name)
		}
	}
	return names, index
}

// at returns the place of a level on the axis.
func (l *loads) at(e *analyze.Experiment) float64 {
	if l.names != nil {
		return float64(l.names[report.LevelName(e)])
	}
	v, _ := strconv.ParseFloat(e.Value, 64) // was read before
	return v
}

// mostLoads is the number of levels of a run that a series shows at most.
const mostLoads = 1000

// series returns a series for each run, in the order of the loads. value returns the value of a level, NaN if
// there is none, and title the title of a level with a value.
func (l *loads) series(names []string, value func(*analyze.Experiment) float64, title func(*analyze.Experiment) string) (all []svg.Series) {
	for i, r := range l.runs {
		marks := make([]mark, 0, len(r.Levels))
		for j := range r.Levels {
			e := r.Levels[j].Experiment
			m := mark{l.at(e), value(e), uint64(j)}
			if l.axis.Scale == svg.Log {
				m.x = math.Log(m.x) // so that thin divides the axis evenly
			}
			marks = append(marks, m)
		}
		marks, _ = thin(marks, mostLoads)
		points := make([]svg.Point, len(marks))
		for k, m := range marks {
			e := r.Levels[m.id].Experiment
			if points[k] = (svg.Point{X: l.at(e), Y: m.y}); !math.IsNaN(m.y) {
				points[k].Title = title(e)
			}
		}
		all = append(all, named(names, i, svg.LinePoints, points))
	}
	return all
}

// note says that series show some of the levels of a run; "" if they show all.
func (l *loads) note() string {
	for _, r := range l.runs {
		if len(r.Levels) > mostLoads {
			return "Drawn are the lowest and the highest of each stretch of loads, at most " + plural.GroupedOf(mostLoads, "level") + " of a run."
		}
	}
	return ""
}

// limits returns lines for the conditions of the objective that bound a metric of single requests.
func limits(runs []*view.Run, m answer.Metric) (lines []svg.Line) {
	for _, e := range experiments(runs) {
		if e.SLO == nil {
			continue
		}
		for _, c := range e.SLO.SLO.Conditions() {
			if metric, limit, ok := c.Limit(); ok && metric.Name == m.String() {
				line := svg.Line{At: limit, Label: "SLO " + c.String()}
				if !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// attained returns the panel of the share of requests that meet the objective; nil without one.
func attained(runs []*view.Run, names []string, l *loads) *svg.Panel {
	var target float64
	objective := ""
	for _, r := range runs {
		for i := range r.Levels {
			if a := r.Levels[i].Experiment.SLO; a != nil {
				objective, target = a.SLO.String(), r.Report.SLOTarget
			}
		}
	}
	if objective == "" {
		return nil
	}
	series := l.series(names, func(e *analyze.Experiment) float64 {
		if e.SLO == nil || !e.SLO.Share.OK {
			return math.NaN()
		}
		return e.SLO.Share.V
	}, report.LevelName)
	return &svg.Panel{
		Title: "Requests that meet " + objective, X: l.axis, Y: svg.Axis{Unit: svg.Share, Include: []float64{0, 1}},
		Series: series, Lines: []svg.Line{{At: target, Label: "target " + sheet.ShareInSentence(target)}}, NoData: "unknown at every level",
	}
}

// maxLoad returns the highest load that attains the target as a line with its interval, if there is one
// run.
func maxLoad(runs []*view.Run, l *loads, label bool) []svg.Line {
	if len(runs) != 1 || l.names != nil {
		return nil
	}
	m := runs[0].Report.MaxLoad()
	if m == nil || math.IsNaN(m.Estimate) {
		return nil
	}
	line := svg.Line{Vertical: true, At: m.Estimate}
	if bounded(m) {
		line.Band = svg.Interval{Low: m.Interval.Low, High: m.Interval.High}
	}
	if label {
		estimate, _ := m.Rounded()
		line.Label = "meets the SLO up to " + report.LoadText(estimate)
	}
	return []svg.Line{line}
}

// bounded reports whether both ends of the interval of a highest load are known.
func bounded(m *figure.MaxLoad) bool {
	return !math.IsInf(m.Interval.Low, 0) && !math.IsInf(m.Interval.High, 0)
}

// maxLoadNotes says of each run with an objective what the lines cannot show of its highest load.
func maxLoadNotes(runs []*view.Run, names []string) (notes []string) {
	for i, r := range runs {
		m := r.Report.MaxLoad()
		if m == nil {
			continue
		}
		note := ""
		mode := strings.ReplaceAll(m.Mode, "_", " ")
		switch {
		case !math.IsNaN(m.Estimate) && len(runs) > 1:
			note = fmt.Sprintf("the target of the SLO is attained up to %s %s", mode, report.LoadsText(m))
		case !math.IsNaN(m.Estimate):
			note = m.NA
		case m.Above != nil:
			note = "all levels attain the target of the SLO"
			if m.Within != m.Above {
				note += ", the highest one not surely"
			}
		case m.Under != nil:
			note = "no level attains the target of the SLO"
			if m.Beyond != m.Under {
				note += ", but the lowest one does not surely miss it"
			}
		default:
			note = m.NA
		}
		if note == "" {
			continue
		}
		if len(runs) > 1 {
			note = names[i] + ": " + note
		} else {
			note = upper(note)
		}
		notes = append(notes, note+".")
	}
	return notes
}
