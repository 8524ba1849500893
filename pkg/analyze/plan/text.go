package plan

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/rig"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// Text writes the plan for people, in lines of at most width characters; 0 is no limit. The command is a line, however
// long it is, so that it can be copied.
func Text(res *Result, width int) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		line := func(text string) { b.WriteString(report.Wrap(text, "", "  ", width)) }
		for _, text := range res.Headlines() {
			line(text)
		}
		if res.NoCommand != "" {
			line("No command, because " + res.NoCommand + ".")
		} else {
			b.WriteString(res.Command.recording() + ": " + res.Command.Line + "\n")
		}
		line(res.source())
		if differs := res.Set.DifferenceTable().Text("", width); differs != "" {
			b.WriteString("\n" + differs)
		}
		for i := range res.Levels {
			if l := &res.Levels[i]; len(l.Rows) > 0 {
				fmt.Fprintf(&b, "\n%s\n", l.title())
				b.WriteString(l.table(res).Text("  ", width))
			}
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

// Markdown writes the plan for a pull request or a wiki.
func Markdown(res *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		for _, text := range res.Headlines() {
			fmt.Fprintf(&b, "**%s**\n\n", sanitize.Markdown(text))
		}
		if res.NoCommand != "" {
			fmt.Fprintf(&b, "No command, because %s.\n\n", sanitize.Markdown(res.NoCommand))
		} else {
			fence := "```"
			for strings.Contains(res.Command.Line, fence) {
				fence += "`"
			}
			fmt.Fprintf(&b, "%s:\n\n%ssh\n%s\n%s\n\n", sanitize.Markdown(res.Command.recording()), fence, res.Command.Line, fence)
		}
		b.WriteString(sanitize.Markdown(res.source()) + "\n")
		b.WriteString(res.Set.DifferenceTable().Markdown())
		for i := range res.Levels {
			if l := &res.Levels[i]; len(l.Rows) > 0 {
				fmt.Fprintf(&b, "\n#### %s\n", sanitize.Markdown(l.title()))
				b.WriteString(l.table(res).Markdown())
			}
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
	return fmt.Sprintf("planned from %s (%s), %s", plural.Of(len(names), "run"), strings.Join(names, ", "), res.Set.Runs[0].Measured())
}

// title returns "concurrency 2, 5 runs of 60 requests".
func (l *Level) title() string {
	return fmt.Sprintf("%s, %s of %s", sanitize.Text(l.Name), plural.Of(len(l.Runs), "run"), plural.GroupedOf(l.Requests, "request"))
}

// table returns the table of a level.
func (l *Level) table(res *Result) tabular.Table {
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
	t := tabular.Table{Rows: [][]string{head}, Left: []string{"n/a, because"}}
	for i := range l.Rows {
		r := &l.Rows[i]
		row := []string{r.Metric.Name, tabular.Percent(r.Deviation), tabular.Percent(r.Within), runs(r.Find), runs(r.Exclude)}
		if single {
			row = []string{r.Metric.Name, tabular.Percent(r.Within), requests(r.SingleRequests)}
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
