package rig

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Text writes the result for people, in lines of at most width characters; 0 is no limit.
func Text(res *Result, width int) sheet.Renderer { return sheet.Text(width, res.sheet()) }

// Markdown writes the result for a pull request or a wiki.
func Markdown(res *Result) sheet.Renderer { return sheet.Markdown(res.sheet()) }

// sheet returns the result for people.
func (res *Result) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: res.Headlines(), About: []string{res.source()}, Notes: res.notes()}
	s.Part("").Table(res.Set.DifferenceTable())
	units := res.Set.Units()
	for i := range res.Levels {
		l := &res.Levels[i]
		s.Part(l.Name + ", " + plural.Of(len(l.Runs), "run")).Table(res.table(l, &units))
	}
	return s
}

// source returns the line that names the runs and the definitions of their metrics.
func (res *Result) source() string {
	return fmt.Sprintf("%s, %s", res.Set.Named(), res.Set.Runs[0].Measured())
}

// table returns the table of a level.
func (res *Result) table(l *Level, u *diff.Units) sheet.Table {
	header := []string{"", "mean", "deviation", "its interval", "drift", "its interval"}
	for _, n := range res.Options.RunsASide {
		header = append(header, strconv.Itoa(n)+" a side")
	}
	if res.Options.Effect > 0 {
		header = append(header, res.neededHead())
	}
	rows := [][]string{append(header, "neighbors")}
	for i := range l.Rows {
		r := &l.Rows[i]
		name := r.Metric.Name
		if r.Metric.Primary {
			name += " *"
		}
		cells := []string{name, u.Amount(r.Metric, r.Mean)}
		if r.NA != "" {
			missing := "n/a"
			if r.NA == ranked {
				missing = ""
			}
			cells = append(cells, missing, "", missing, "")
			for range len(header) - len(cells) + 1 {
				cells = append(cells, missing)
			}
			rows = append(rows, cells)
			continue
		}
		cells = append(cells, sheet.Percent(r.Deviation), sheet.Percent(r.DeviationInterval.Low)+" "+sheet.Percent(r.DeviationInterval.High),
			sheet.Change(r.Drift.Change), interval(r.Drift.Interval))
		for _, s := range r.Smallest {
			cells = append(cells, sheet.Change(s))
		}
		if res.Options.Effect > 0 {
			cells = append(cells, needed(r.Needed))
		}
		rows = append(rows, append(cells, sheet.Percent(r.Turns.Neighbors)))
	}
	return sheet.Table{Rows: rows}
}

// interval formats the ends of an interval; "" without an interval.
func interval(i inference.Interval) string {
	if math.IsNaN(i.Low) {
		return ""
	}
	return sheet.Change(i.Low) + " " + sheet.Change(i.High)
}

// neededHead returns the head of the column for Options.Effect.
func (res *Result) neededHead() string {
	return "runs a side for " + sheet.Signed(res.Options.Effect) + "%"
}

// needed formats Row.Needed.
func needed(n int) string {
	if n > MaxRunsASide {
		return ">" + strconv.Itoa(MaxRunsASide)
	}
	return strconv.Itoa(n)
}
