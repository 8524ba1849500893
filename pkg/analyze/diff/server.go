package diff

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
)

// A ServerRow compares a figure that servers or GPUs gave of themselves: what
// serverfigures.Figure has of each run. It is never judged.
//
// One run a side has no interval: a server tells means and totals, and not how
// they vary within the run.
type ServerRow struct {
	Name, Metric, Unit string
	// OldOf and NewOf say what it is of on each side; they differ where both sides
	// have one such figure, of another source or GPU. "" where a side has none.
	OldOf, NewOf string
	inference.Comparison
	// OldRuns and NewRuns are the values of each run, NaN where it has none.
	OldRuns, NewRuns []float64
}

// Of says what the figure is of.
func (r *ServerRow) Of() string {
	switch {
	case r.OldOf == "" || r.OldOf == r.NewOf:
		return r.NewOf
	case r.NewOf == "":
		return r.OldOf
	}
	return r.OldOf + " → " + r.NewOf
}

// figureValue is the number of a figure that is compared.
func figureValue(f *serverfigures.Figure) float64 {
	if f.Kind == serverfigures.Counter {
		return f.Total
	}
	return f.Mean
}

// A figureKey says which figures are of the same. of is "" where no run has two of
// that name and metric: a server at another address is the same one then.
type figureKey struct{ name, metric, of string }

// server compares the figures of servers. Those of the first run that has them come
// in its order. why is why nothing is compared but values, "" where it is.
func (l *LevelResult) server(why string) {
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
	var order []*ServerRow
	nan := func(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }
	take := func(levels []*Level, of func(*ServerRow) (*string, []float64)) {
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
					rows[key], order = r, append(order, r)
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
	for _, r := range order {
		r.compare(why)
		l.Server = append(l.Server, *r)
	}
}

// compare fills the Comparison.
func (r *ServerRow) compare(why string) {
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
		why = fmt.Sprintf("%d of %d old runs have no value", o, len(r.OldRuns))
	case n > 0:
		why = fmt.Sprintf("%d of %d new runs have no value", n, len(r.NewRuns))
	default:
		r.Comparison = inference.Runs(r.OldRuns, r.NewRuns)
		return
	}
	na := inference.NA{Reason: why}
	r.Comparison = inference.Comparison{
		Old: inference.Estimate{Value: middle(r.OldRuns), N: len(r.OldRuns) - o, NA: na},
		New: inference.Estimate{Value: middle(r.NewRuns), N: len(r.NewRuns) - n, NA: na},
		P:   math.NaN(), NA: na, Change: math.NaN(),
	}
	if r.Old.Value > 0 && r.New.Value >= 0 {
		r.Change = r.New.Value/r.Old.Value - 1
	}
}

// serverTable are the rows of a table, the header first; nil where there is no
// figure.
func (l *LevelResult) serverTable(u *timeUnits) [][]string {
	if len(l.Server) == 0 {
		return nil
	}
	amount := func(unit string, v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		return report.Quantity(unit, v, u.server)
	}
	rows := [][]string{{"server metric", "old", "new", "change", "95% interval", "n"}}
	for i := range l.Server {
		r := &l.Server[i]
		interval := r.NA.String()
		if !r.NA.Missing() {
			x := r.Interval(confidence)
			interval = change(x.Low) + " " + change(x.High)
		}
		rows = append(rows, []string{
			r.Name + " of " + sanitize.Text(r.Of()), amount(r.Unit, r.Old.Value), amount(r.Unit, r.New.Value),
			change(r.Change), interval, counts(r.Old.N, r.New.N),
		})
	}
	return rows
}

// serverReasons say why figures of servers have no interval: each reason once.
func (r *Result) serverReasons() (lines []string) {
	for i := range r.Levels {
		for k := range r.Levels[i].Server {
			x := &r.Levels[i].Server[k]
			if !x.NA.Missing() {
				continue
			}
			if line := "n/a: figures of servers: " + reason(x.NA); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
