package rig

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// Text writes the result for people, in lines of at most width characters; 0 is no limit.
func Text(res *Result, width int) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		line := func(text string) { b.WriteString(report.Wrap(text, "", "  ", width)) }
		for _, text := range res.Headlines() {
			line(text)
		}
		line(res.source())
		if differs := res.Set.DifferenceTable().Text("", width); differs != "" {
			b.WriteString("\n" + differs)
		}
		units := res.Set.Units()
		for i := range res.Levels {
			l := &res.Levels[i]
			fmt.Fprintf(&b, "\n%s, %s\n", sanitize.Text(l.Name), plural.Of(len(l.Runs), "run"))
			b.WriteString(res.table(l, &units).Text("  ", width))
		}
		for i, note := range res.notes() {
			if i == 0 {
				b.WriteByte('\n')
			}
			line(note)
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// Markdown writes the result for a pull request or a wiki.
func Markdown(res *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		for _, text := range res.Headlines() {
			fmt.Fprintf(&b, "**%s**\n\n", sanitize.Markdown(text))
		}
		b.WriteString(sanitize.Markdown(res.source()) + "\n")
		b.WriteString(res.Set.DifferenceTable().Markdown())
		units := res.Set.Units()
		for i := range res.Levels {
			l := &res.Levels[i]
			fmt.Fprintf(&b, "\n#### %s, %s\n", sanitize.Markdown(l.Name), plural.Of(len(l.Runs), "run"))
			b.WriteString(res.table(l, &units).Markdown())
		}
		for _, note := range res.notes() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(note))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// source returns the line that names the runs and the definitions of their metrics.
func (res *Result) source() string {
	var names []string
	for _, r := range res.Set.Runs {
		names = append(names, sanitize.Text(r.Name))
	}
	return fmt.Sprintf("%s (%s), %s", plural.Of(len(names), "run"), strings.Join(names, ", "), res.Set.Runs[0].Measured())
}

// table returns the table of a level.
func (res *Result) table(l *Level, u *diff.Units) tabular.Table {
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
		cells = append(cells, tabular.Percent(r.Deviation), tabular.Percent(r.DeviationInterval.Low)+" "+tabular.Percent(r.DeviationInterval.High),
			tabular.Change(r.Drift.Change), interval(r.Drift.Interval))
		for _, s := range r.Smallest {
			cells = append(cells, tabular.Change(s))
		}
		if res.Options.Effect > 0 {
			cells = append(cells, needed(r.Needed))
		}
		rows = append(rows, append(cells, tabular.Percent(r.Turns.Neighbors)))
	}
	return tabular.Table{Rows: rows}
}

// interval formats the ends of an interval; "" without an interval.
func interval(i inference.Interval) string {
	if math.IsNaN(i.Low) {
		return ""
	}
	return tabular.Change(i.Low) + " " + tabular.Change(i.High)
}

// neededHead returns the head of the column for Options.Effect.
func (res *Result) neededHead() string {
	return "runs a side for " + tabular.Signed(res.Options.Effect) + "%"
}

// needed formats Row.Needed.
func needed(n int) string {
	if n > MaxRunsASide {
		return ">" + strconv.Itoa(MaxRunsASide)
	}
	return strconv.Itoa(n)
}
