package stated

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// noRequests says what a file of figures lacks.
const noRequests = "figures only: the file keeps no requests, so there are no other percentiles, no SLOs and no intervals"

// Report returns the figures of results in each format.
func Report(all []*Result) *sheet.Formats {
	return &sheet.Formats{
		Sheets:  func() []*sheet.Sheet { return sheets(all) },
		JSON:    func() sheet.Object { return document(all) },
		Columns: []string{"file", "tool", "release", "model", "level", "mode", "value", "metric", "statistic", "figure", "unit"},
		CSV:     func() []sheet.CSVRow { return rows(all) },
	}
}

// mostStatistics is the number of statistics that a table shows. Tools state some twenty; JSON and CSV have all.
const mostStatistics = 64

// sheets returns a sheet for each result.
func sheets(all []*Result) (pages []*sheet.Sheet) {
	for _, r := range all {
		s := &sheet.Sheet{Title: r.File, About: []string{r.about(), noRequests}, Notes: r.Notes, Bullets: true}
		for i := range r.Levels {
			l := &r.Levels[i]
			title := l.Name()
			if title == "" && len(r.Levels) > 1 {
				title = fmt.Sprintf("result %d, load not stated", i+1)
			}
			p := s.Part(title)
			single, many, leftOut := l.tables()
			p.Table(single)
			p.Table(many)
			if leftOut > 0 {
				p.Lines(plural.GroupedOf(leftOut, "further statistic") + ": see --format json or csv")
			}
			if len(l.Figures) == 0 {
				p.Lines("the file states no figure of this level")
			}
		}
		pages = append(pages, s)
	}
	return pages
}

// about says in a line whose figures they are.
func (r *Result) about() string {
	parts := []string{"stated by " + r.Tool()}
	if r.Computed {
		parts[0] = "computed from its requests by the definitions of " + r.Definitions
	}
	for _, p := range [][2]string{{"model", r.Model}, {"server", r.URL}, {"began", r.Began}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	if len(r.Levels) > 1 {
		parts = append(parts, plural.Of(len(r.Levels), "level"))
	}
	return strings.Join(parts, " · ")
}

// tables returns the figures without a statistic, a line each, and the statistics of the others, a line for each metric.
// leftOut counts the statistics without a column.
func (l *Level) tables() (single, many sheet.Table, leftOut int) {
	columns, lines := map[string]int{}, map[string]int{} // of a statistic, of a metric
	head := []string{""}
	for i := range l.Figures {
		f := &l.Figures[i]
		if f.Statistic == "" {
			single.Rows = append(single.Rows, []string{f.Metric, f.Text, f.Unit})
		} else if _, known := columns[f.Statistic]; !known {
			if len(head) > mostStatistics {
				columns[f.Statistic] = 0 // no column
				leftOut++
				continue
			}
			columns[f.Statistic] = len(head)
			head = append(head, f.Statistic)
		}
	}
	if single.Rows != nil {
		single.Rows = slices.Insert(single.Rows, 0, []string{"", "", ""})
	}
	if len(head) == 1 {
		return single, many, 0
	}
	many.Rows = append(many.Rows, head)
	for i := range l.Figures {
		f := &l.Figures[i]
		if f.Statistic == "" {
			continue
		}
		name := f.row()
		at := lines[name]
		if at == 0 {
			at = len(many.Rows)
			lines[name] = at
			many.Rows = append(many.Rows, append([]string{name}, make([]string, len(head)-1)...))
		}
		if c := columns[f.Statistic]; c > 0 {
			many.Rows[at][c] = f.Text
		}
	}
	return single, many, leftOut
}

// row returns the name of the line of a metric.
func (f *Figure) row() string {
	if f.Unit == "" {
		return f.Metric
	}
	return f.Metric + " (" + f.Unit + ")"
}

// document returns the JSON of results.
func document(all []*Result) sheet.Object {
	return sheet.Object{"schema", "pa-stated/1", "results", sheet.ListOf(all, func(r *Result) sheet.Object {
		return sheet.Object{
			"file", r.File, "tool", r.Definitions, "release", sheet.Opt(r.Release), "model", sheet.Opt(r.Model), "url", sheet.Opt(r.URL),
			"began", sheet.Opt(r.Began), "notes", sheet.Opt(r.Notes),
			"levels", sheet.List(r.Levels, func(l *Level) sheet.Object {
				return sheet.Object{
					"level", l.Name(), "mode", sheet.Opt(l.Mode), "value", sheet.Opt(l.Value),
					"settings", sheet.List(l.Settings, func(s *Setting) sheet.Object { return sheet.Object{"name", s.Name, "value", s.Value} }),
					"figures", sheet.List(l.Figures, (*Figure).object),
				}
			}),
		}
	})}
}

// object returns the JSON of a figure. A figure without a number has no "value".
func (f *Figure) object() sheet.Object {
	return sheet.Object{"metric", f.Metric, "statistic", sheet.Opt(f.Statistic), "value", f.Value, "text", f.Text, "unit", sheet.Opt(f.Unit)}
}

// rows returns the lines of CSV, a figure each.
func rows(all []*Result) (lines []sheet.CSVRow) {
	for _, r := range all {
		for i := range r.Levels {
			l := &r.Levels[i]
			for j := range l.Figures {
				f := &l.Figures[j]
				lines = append(lines, sheet.CSVRow{
					"file": r.File, "tool": r.Definitions, "release": r.Release, "model": r.Model, "level": l.Name(), "mode": l.Mode, "value": l.Value,
					"metric": f.Metric, "statistic": f.Statistic, "figure": f.csv(), "unit": f.Unit,
				})
			}
		}
	}
	return lines
}

// csv returns the number for a cell of CSV; "" for none.
func (f *Figure) csv() string {
	if f.Value != f.Value {
		return ""
	}
	return f.Text
}
