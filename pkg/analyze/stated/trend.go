package stated

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A Trend has figures of one tool over several results, in the order given. It finds no steps: nothing tells a change from chance.
type Trend struct {
	Results []*Result
	Labels  []string // of the results
	Levels  []TrendLevel
	Notes   []string // what differs besides the figures
}

// A TrendLevel is a load level of some of the results.
type TrendLevel struct {
	Name        string
	Mode, Value string // as in [Level], of the first result
	Rows        []TrendRow
}

// Named returns the row of a name, as [Level.Named]; nil for none.
func (x *TrendLevel) Named(name string) *TrendRow {
	for i := range x.Rows {
		if f, _ := x.Rows[i].First(); spelled(f.Name()) == spelled(name) {
			return &x.Rows[i]
		}
	}
	return nil
}

// A TrendRow is a figure of the results; nil for results that do not state it.
type TrendRow struct{ Figures []*Figure }

// First returns the first figure of the row, and its place.
func (r *TrendRow) First() (f *Figure, at int) {
	at = slices.IndexFunc(r.Figures, func(f *Figure) bool { return f != nil })
	return r.Figures[at], at
}

// change returns (value − first value) / first value of result i; NaN if it has none, or the first value is 0.
func (r *TrendRow) change(i int) float64 {
	first, _ := r.First()
	if r.Figures[i] == nil {
		return math.NaN()
	}
	return (&Row{first, r.Figures[i]}).change()
}

// NewTrend lines up the figures of results. labels may have "" for the name of the file. Results with one level each are lined up even
// if their loads differ, unless byLoad is set. The error says that the results are of several tools.
func NewTrend(results []*Result, labels []string, byLoad bool) (*Trend, error) {
	if err := OneTool(results); err != nil {
		return nil, err
	}
	t := &Trend{Results: results}
	type line struct {
		level int
		key   figureKey
	}
	finds := make([]func(*Level, []bool) int, len(results)) // levels that were met first in a result
	sources := make([][]int, len(results))                  // the index in t.Levels of each level of a result
	rows := map[line]int{}
	t.Labels = slices.Clone(labels)
	for i, r := range results {
		if labels[i] == "" {
			t.Labels[i] = r.File
		}
		if i > 0 {
			t.Notes = append(t.Notes, differences(results[0], r)...)
		}
		taken := make([][]bool, i)
		for k := range taken {
			taken[k] = make([]bool, len(results[k].Levels))
		}
		used := map[int]bool{} // levels of the trend that r has
		for j := range r.Levels {
			l := &r.Levels[j]
			level := -1
			for k := 0; k < i && level < 0; {
				at := finds[k](l, taken[k])
				if at < 0 {
					k++
					continue
				}
				taken[k][at] = true
				if !used[sources[k][at]] { // an earlier level of r may have taken it from another result
					level = sources[k][at]
					if differ := settingsDiffer(results[k], r, &results[k].Levels[at], l); differ != "" {
						t.Notes = append(t.Notes, differ)
					}
				}
			}
			if level < 0 && i > 0 && !byLoad && len(r.Levels) == 1 && len(t.Levels) == 1 {
				level = 0
				if first := (&Level{Mode: t.Levels[0].Mode, Value: t.Levels[0].Value}); !l.sameLoad(first) {
					t.Levels[0].Name = "different loads"
					t.Notes = append(t.Notes, fmt.Sprintf("the loads differ: %s in %s, %s in %s", nameOf(first, 0), results[0].File, nameOf(l, 0), r.File))
				}
			}
			if level < 0 {
				level = len(t.Levels)
				t.Levels = append(t.Levels, TrendLevel{Name: l.Name(), Mode: l.Mode, Value: l.Value})
			}
			used[level] = true
			sources[i] = append(sources[i], level)
			x := &t.Levels[level]
			for n := range l.Figures {
				f := &l.Figures[n]
				at, ok := rows[line{level, f.key()}]
				if !ok {
					at = len(x.Rows)
					rows[line{level, f.key()}] = at
					x.Rows = append(x.Rows, TrendRow{make([]*Figure, len(results))})
				}
				if x.Rows[at].Figures[i] == nil {
					x.Rows[at].Figures[i] = f
				}
			}
		}
		finds[i] = r.finder()
	}
	return t, nil
}

// Formats returns the trend in each format.
func (t *Trend) Formats() *sheet.Formats {
	return &sheet.Formats{
		Sheets:  sheet.One(t.sheet),
		JSON:    t.json,
		Columns: []string{"level", "metric", "statistic", "unit", "point", "file", "value", "change"},
		CSV:     t.csv,
	}
}

func (t *Trend) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: []string{NoInterval}, Notes: t.Notes, Bullets: true}
	for i, r := range t.Results {
		s.About = append(s.About, t.Labels[i]+" · "+r.about())
	}
	for i := range t.Levels {
		x := &t.Levels[i]
		table := sheet.Table{Rows: [][]string{append([]string{""}, t.Labels...)}}
		for j := range x.Rows {
			r := &x.Rows[j]
			first, at := r.First()
			row := []string{first.title()}
			for k, f := range r.Figures {
				cell := ""
				if f != nil {
					cell = f.Text
					if v := r.change(k); k != at && !math.IsNaN(v) {
						cell += " " + sheet.Change(v)
					}
				}
				row = append(row, cell)
			}
			table.Rows = append(table.Rows, row)
		}
		s.Part(x.Name).Table(table)
	}
	return s
}

// title returns the name with the unit.
func (f *Figure) title() string {
	if f.Unit == "" {
		return f.Name()
	}
	return f.Name() + " (" + f.Unit + ")"
}

func (t *Trend) json() sheet.Object {
	points := make([]sheet.Object, len(t.Results))
	for i, r := range t.Results {
		points[i] = sheet.Object{"label", t.Labels[i], "file", r.File, "release", sheet.Opt(r.Release), "model", sheet.Opt(r.Model)}
	}
	return sheet.Object{
		"schema", "pa-stated-trend/1", "verdict", "none", "why", NoInterval, "definitions", t.Results[0].Definitions,
		"points", sheet.List(points, func(o *sheet.Object) sheet.Object { return *o }),
		"levels", sheet.List(t.Levels, func(x *TrendLevel) sheet.Object {
			return sheet.Object{"level", x.Name, "figures", sheet.List(x.Rows, func(r *TrendRow) sheet.Object {
				first, _ := r.First()
				var values []sheet.Object
				for i, f := range r.Figures {
					if f != nil {
						values = append(values, sheet.Object{"point", t.Labels[i], "value", f.Value, "change", r.change(i)})
					}
				}
				return sheet.Object{
					"metric", first.Metric, "statistic", sheet.Opt(first.Statistic), "unit", sheet.Opt(first.Unit),
					"values", sheet.List(values, func(o *sheet.Object) sheet.Object { return *o }),
				}
			})}
		}),
		"notes", sheet.Opt(t.Notes),
	}
}

func (t *Trend) csv() (lines []sheet.CSVRow) {
	for i := range t.Levels {
		x := &t.Levels[i]
		for j := range x.Rows {
			r := &x.Rows[j]
			first, _ := r.First()
			for k, f := range r.Figures {
				if f != nil {
					lines = append(lines, sheet.CSVRow{
						"level": x.Name, "metric": first.Metric, "statistic": first.Statistic, "unit": first.Unit,
						"point": t.Labels[k], "file": t.Results[k].File, "value": f.csv(), "change": sheet.CSVNumber(r.change(k)),
					})
				}
			}
		}
	}
	return lines
}
