package report

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// fewestForTrend is the number of windows from which their course is drawn: fewer are read
// off the table at a glance.
const fewestForTrend = 4

// widestSparkline and shortestSparkline bound the columns of a sparkline. A line without
// room for shortestSparkline has none.
const (
	widestSparkline   = 60
	shortestSparkline = 8
)

// A course is a figure in the order of windows. Values are NaN where a window has none.
type course struct {
	name, unit string
	text       func(float64) string // formats a value
	values     []float64
}

// trends draws the course of each figure of a table of windows, for terminals; see
// [Options.Sparklines].
func (t *table) trends(lines []line) sheet.Table {
	if !t.o.Sparklines || len(lines) < fewestForTrend {
		return sheet.Table{}
	}
	g := chartGrid("least", "most")
	all := courses(lines, t.units)
	for _, c := range all {
		least, most := bounds(c.values)
		g.Add(c.name, c.unit, "", c.text(least), c.text(most))
	}
	return t.charts(g, widestSparkline, func(i, width int) string { return sheet.Sparkline(all[i].values, width) })
}

// chartColumn is the column of the sparklines in a table of charts.
const chartColumn = 2

// chartGrid returns a table with a row for each sparkline: name, unit, sparkline, and columns
// with these heads.
func chartGrid(heads ...string) sheet.Table {
	g := newGrid(chartColumn+1, 1)
	g.Add(append(make([]string, chartColumn+1), heads...)...)
	return g
}

// charts adds the sparklines to a table of charts. draw returns the sparkline of row i, which
// has at most width columns; the columns that fit a line, but not more than widest. charts returns
// an empty table if there are no rows, or if a line has no room for sparklines.
func (t *table) charts(g sheet.Table, widest int, draw func(i, width int) string) sheet.Table {
	room := widest
	if t.o.Width > 0 {
		room = min(room, t.o.Width-g.Wide(len(tableIndent)))
	}
	if len(g.Rows) < 2 || room < shortestSparkline {
		return sheet.Table{}
	}
	for i := range g.Rows[1:] {
		g.Rows[i+1][chartColumn] = draw(i, room)
	}
	return g
}

// failedCourse is the name of the course of failed requests.
const failedCourse = "failed"

// courses returns each figure of a comparing table over its lines. It leaves out a figure that no
// line has, and failed requests where there are none.
func courses(lines []line, u *timeUnits) []course {
	rate := func(r figure.Rate) float64 {
		if !r.OK {
			return math.NaN()
		}
		return r.PerSecond
	}
	all := []course{{name: "requests", unit: "/s", text: Number}, {name: "output", unit: "tok/s", text: Number}}
	figures := comparedFigures(u)
	for _, f := range figures {
		all = append(all, course{name: f.metric.Label() + " " + PercentileName(f.pct), unit: f.sc.name, text: Number})
	}
	all = append(all, course{name: failedCourse, text: func(v float64) string { return strconv.Itoa(int(v)) }})
	for i := range lines {
		l := &lines[i]
		values := []float64{rate(l.throughput.Requests), rate(l.throughput.OutputTokens)}
		for _, f := range figures {
			v := math.NaN()
			if s := l.metric(f.metric); s != nil {
				v = s.P(f.pct) / f.sc.per
			}
			values = append(values, v)
		}
		values = append(values, float64(l.failed))
		for j := range all {
			all[j].values = append(all[j].values, values[j])
		}
	}
	return slices.DeleteFunc(all, func(c course) bool {
		least, most := bounds(c.values)
		return least > most || c.name == failedCourse && most == 0
	})
}

// bounds returns the least and the greatest value that is not NaN; least is above most if
// there is none.
func bounds(values []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	return least, most
}

// mostBins is the number of bins of a histogram on a wide terminal.
const mostBins = 48

// fewestForHistogram is the number of values from which a histogram is drawn. Below it, the percentiles
// between two neighboring values would show as values that nobody measured.
const fewestForHistogram = 100

// fewestDoublings is the number of doublings between the ends of a histogram from which its bins have
// equal widths on a logarithmic scale.
const fewestDoublings = 3

// histograms draws the distributions of TTFT and ITL, for terminals; see [Options.Sparklines].
func (t *table) histograms(e *analyze.Experiment) sheet.Table {
	if !t.o.Sparklines {
		return sheet.Table{}
	}
	g := chartGrid("min", "p99.9", "bins")
	var all []*histogram
	for _, m := range e.Metrics {
		if m.Definition.Metric != answer.TTFT && m.Definition.Metric != answer.ITL {
			continue
		}
		h := histogramOf(m.Summary)
		if h == nil {
			continue
		}
		f := rowFormat(m, t.units.Of(m.Definition))
		bins := "linear"
		if h.log {
			bins = "log"
		}
		all = append(all, h)
		g.Add(m.Definition.Label(), f.name, "", f.text(h.low), f.text(h.high), bins)
	}
	return t.charts(g, mostBins, func(i, width int) string { return sheet.Sparkline(all[i].shares(width), width) })
}

// A histogram shows the values of a metric from the smallest to the p99.9, which hides no bulk behind
// one extreme value.
type histogram struct {
	curve     summary.Curve
	low, high float64
	log       bool // the bins have equal widths on a logarithmic scale
}

// histogramOf returns the histogram of a metric; nil for a summary without a Curve or with fewer than
// fewestForHistogram values, and if the smallest value and the p99.9 are equal.
func histogramOf(s *summary.Summary) *histogram {
	h := &histogram{curve: s.Curve, low: s.Min, high: s.P(99.9)}
	if s.Curve == nil || s.N < fewestForHistogram || !(h.high > h.low) {
		return nil
	}
	h.log = h.low > 0 && math.Log2(h.high/h.low) >= fewestDoublings
	return h
}

// shares returns the percentage of the values in each of n bins. A bin includes its upper end, and the
// first bin its lower end, too.
func (h *histogram) shares(n int) []float64 {
	all := make([]float64, n)
	below := 0.0
	for i := range all {
		end := h.high
		switch f := float64(i+1) / float64(n); {
		case i == n-1: // exact
		case h.log:
			end = h.low * math.Pow(h.high/h.low, f)
		default:
			end = h.low + (h.high-h.low)*f
		}
		at := h.level(end)
		all[i], below = max(at-below, 0), max(at, below)
	}
	return all
}

// level returns the percentage of the values that are at most v, interpolated between the percentiles
// of the curve.
func (h *histogram) level(v float64) float64 {
	next := sort.Search(len(summary.CurveLevels), func(i int) bool { return h.curve.At(i) > v })
	switch next {
	case 0:
		return 0
	case len(summary.CurveLevels):
		return 100
	}
	from, to := h.curve.At(next-1), h.curve.At(next)
	return summary.CurveLevels[next-1] + (summary.CurveLevels[next]-summary.CurveLevels[next-1])*(v-from)/(to-from)
}
