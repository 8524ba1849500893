package plan

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/rig"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Text writes the plan for people, in lines of at most width characters; 0 is no limit. The command is a line, however
// long it is, so that it can be copied.
func Text(res *Result, width int) sheet.Renderer { return sheet.Text(width, res.sheet()) }

// Markdown writes the plan for a pull request or a wiki.
func Markdown(res *Result) sheet.Renderer { return sheet.Markdown(res.sheet()) }

// sheet returns the plan for people.
func (res *Result) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: res.Headlines(), Notes: res.notes()}
	if res.NoCommand != "" {
		s.About = append(s.About, "No command, because "+res.NoCommand+".")
	} else {
		s.Command = sheet.Command{Before: res.Command.recording(), Line: res.Command.Line}
	}
	s.About = append(s.About, fmt.Sprintf("planned from %s, %s", res.Set.Named(), res.Set.Runs[0].Measured()))
	s.Part("").Table(res.Set.DifferenceTable())
	for i := range res.Levels {
		if l := &res.Levels[i]; len(l.Rows) > 0 {
			s.Part(l.title()).Table(l.table(res))
		}
	}
	return s
}

// title returns "concurrency 2, 5 runs of 60 requests".
func (l *Level) title() string {
	return fmt.Sprintf("%s, %s of %s", l.Name, plural.Of(len(l.Runs), "run"), plural.GroupedOf(l.Requests, "request"))
}

// table returns the table of a level.
func (l *Level) table(res *Result) sheet.Table {
	reasons := ""
	for i := range l.Rows {
		reasons += l.Rows[i].NA
	}
	var head []string
	single := len(l.Runs) < rig.MinRuns
	if single {
		head = []string{"", "within", "requests"}
	} else {
		head = []string{"", "deviation", "within", "to find " + res.change(), "to exclude it"}
	}
	if reasons != "" {
		head = append(head, "n/a, because")
	}
	t := sheet.Table{Rows: [][]string{head}, Left: []string{"n/a, because"}}
	for i := range l.Rows {
		r := &l.Rows[i]
		row := []string{r.Metric.Name, sheet.Percent(r.Deviation), sheet.Percent(r.Within), runs(r.Find), runs(r.Exclude)}
		if single {
			row = []string{r.Metric.Name, sheet.Percent(r.Within), requests(r.SingleRequests)}
		}
		if reasons != "" {
			row = append(row, r.NA)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// runs writes a number of runs for a table.
func runs(k int) string {
	switch {
	case k == 0:
		return "–"
	case k > rig.MaxRunsASide:
		return "> " + plural.Grouped(rig.MaxRunsASide)
	}
	return strconv.Itoa(k)
}

// requests writes a number of requests for a table.
func requests(n float64) string {
	if n == 0 {
		return "–"
	}
	return plural.Grouped(int64(tidy(n)))
}
