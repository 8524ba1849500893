package diff

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A ServerRow compares a figure of servers or GPUs, a serverfigures.Figure of each run.
// It never has a verdict. With one run a side it has no interval, because a server
// reports means and totals but not their spread.
type ServerRow struct {
	Name, Metric, Unit string
	// OldOf and NewOf name the source or GPU of the figure on each side. They differ if
	// each side has one such figure, from different sources. "" for a side without it.
	OldOf, NewOf string
	inference.Comparison
	// OldRuns and NewRuns are the values of each run; NaN for a run without one.
	OldRuns, NewRuns []float64
}

// of returns the source or GPU of the figure.
func (r *ServerRow) of() string {
	switch {
	case r.OldOf == "" || r.OldOf == r.NewOf:
		return r.NewOf
	case r.NewOf == "":
		return r.OldOf
	}
	return r.OldOf + " → " + r.NewOf
}

// figureValue returns the compared number of a figure.
func figureValue(f *serverfigures.Figure) float64 {
	if f.Kind == serverfigures.Counter {
		return f.Total
	}
	return f.Mean
}

// A figureKey identifies a figure across runs. of is "" if no run has two figures of
// this name and metric; then servers at different addresses count as the same.
type figureKey struct{ name, metric, of string }

// server compares the figures of servers, in the order of the first run that has them.
// why is the reason to show values only; "" to compare.
func (l *LevelDiff) server(why string) {
	crowded := map[figureKey]bool{}
	for _, x := range slices.Concat(l.Old, l.New) {
		seen := map[figureKey]bool{}
		for i := range x.Server {
			k := figureKey{name: x.Server[i].Name, metric: x.Server[i].Metric}
			crowded[k] = crowded[k] || seen[k]
			seen[k] = true
		}
	}
	rows := map[figureKey]*ServerRow{}
	nan := func(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }
	take := func(levels []*RunLevel, of func(*ServerRow) (*string, []float64)) {
		for i, x := range levels {
			for k := range x.Server {
				f := &x.Server[k]
				if f.NA != "" {
					continue
				}
				key := figureKey{name: f.Name, metric: f.Metric}
				if crowded[key] {
					key.of = f.Of
				}
				r := rows[key]
				if r == nil {
					r = &ServerRow{Name: f.Name, Metric: f.Metric, Unit: f.Unit, OldRuns: nan(len(l.Old)), NewRuns: nan(len(l.New))}
					rows[key], l.Server = r, append(l.Server, r)
				}
				who, values := of(r)
				if *who == "" {
					*who = f.Of
				}
				values[i] = figureValue(f)
			}
		}
	}
	take(l.Old, func(r *ServerRow) (*string, []float64) { return &r.OldOf, r.OldRuns })
	take(l.New, func(r *ServerRow) (*string, []float64) { return &r.NewOf, r.NewRuns })
	for _, r := range l.Server {
		r.compare(why, l.sides)
	}
}

// compare fills the Comparison.
func (r *ServerRow) compare(why string, sides Sides) {
	lacking := func(runs []float64) (n int) {
		for _, v := range runs {
			if math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	o, n := lacking(r.OldRuns), lacking(r.NewRuns)
	switch {
	case why != "":
	case o > 0:
		why = fmt.Sprintf("%d of %d %s runs %s no value", o, len(r.OldRuns), sides.old(), plural.Form(o, "has", "have"))
	case n > 0:
		why = fmt.Sprintf("%d of %d %s runs %s no value", n, len(r.NewRuns), sides.new(), plural.Form(n, "has", "have"))
	default:
		r.Comparison = inference.Runs(r.OldRuns, r.NewRuns)
		return
	}
	na := inference.NA{Reason: why}
	r.Comparison = inference.Comparison{
		Old: inference.Estimate{Value: inference.MeanOfRuns(r.OldRuns), N: len(r.OldRuns) - o, NA: na},
		New: inference.Estimate{Value: inference.MeanOfRuns(r.NewRuns), N: len(r.NewRuns) - n, NA: na},
		P:   math.NaN(), NA: na, Change: math.NaN(),
	}
	if r.Old.Value > 0 && r.New.Value >= 0 {
		r.Change = r.New.Value/r.Old.Value - 1
	}
}

// serverTable returns the table of the figures of servers; empty without figures.
func (l *LevelDiff) serverTable(u *Units) sheet.Table {
	if len(l.Server) == 0 {
		return sheet.Table{}
	}
	amount := func(unit string, v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		return report.Quantity(unit, v, u.server)
	}
	name := "server metric"
	if slices.ContainsFunc(l.Server, func(r *ServerRow) bool { return r.of() == ofLevel }) {
		name = "figure without verdict"
	}
	rows := [][]string{{name, l.sides.old(), l.sides.new(), "change", "95% interval", "n"}}
	for _, r := range l.Server {
		interval := r.NA.String()
		if !r.NA.Missing() {
			x := r.Interval(confidence)
			interval = sheet.Changes(x.Low, x.High)
		}
		rows = append(rows, []string{
			r.Name + " of " + sanitize.Text(r.of()), amount(r.Unit, r.Old.Value), amount(r.Unit, r.New.Value),
			sheet.Change(r.Change), interval, counts(r.Old.N, r.New.N),
		})
	}
	return sheet.Table{Rows: rows}
}

// serverReasons returns why figures of servers have no interval: each reason once.
func (r *Result) serverReasons() (lines []string) {
	for _, l := range r.Levels {
		for _, x := range l.Server {
			if !x.NA.Missing() {
				continue
			}
			if line := "n/a: figures of servers: " + x.reason(); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// reason returns why a figure has no interval, and how many runs would be enough.
func (r *ServerRow) reason() string {
	if r.NA.Needs == 0 {
		return r.NA.Reason
	}
	return fmt.Sprintf("%s (%d runs a side are enough)", r.NA.Reason, r.NA.Needs)
}
