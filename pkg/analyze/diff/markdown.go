package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// Markdown writes the comparison for a pull request.
func Markdown(r *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := r.units()
		fmt.Fprintf(&b, "### %s\n", sanitize.Markdown(r.Headline()))
		if out := r.leftOut(); out != "" {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(out))
		}
		fmt.Fprintf(&b, "\n%s\n\n%s\n", sanitize.Markdown(r.title()), sanitize.Markdown(r.measured()))
		if unknown := r.notKnown(); unknown != "" {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(unknown))
		}
		b.WriteString(r.differenceTable().Markdown())
		for _, l := range r.allLevels() {
			fmt.Fprintf(&b, "\n#### %s\n", sanitize.Markdown(r.levelTitle(l)))
			for _, line := range l.parts() {
				fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
			}
			b.WriteString(l.table(u, false).Markdown())
			b.WriteString(l.serverTable(u).Markdown())
		}
		for _, line := range r.lines() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
		}
		b.WriteString("\n<details><summary>how it was judged</summary>\n")
		for i := range r.Levels {
			l := &r.Levels[i]
			rows := [][]string{{sanitize.Text(l.Name), "p", "n", "each " + l.sides.old() + " run", "each " + l.sides.new() + " run"}}
			runs := l.perRun(u)
			for j := range l.Rows {
				row := &l.Rows[j]
				if !row.Primary {
					continue
				}
				cells := []string{row.Metric.Name, tabular.PValue(row.Adjusted), counts(row.Old.N, row.New.N), "", ""}
				if len(runs) > 0 {
					cells[3], cells[4] = runs[0][1], runs[0][2]
					runs = runs[1:]
				}
				rows = append(rows, cells)
			}
			b.WriteString(tabular.AllLeft(rows).Markdown())
		}
		for _, line := range r.explanation() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
		}
		b.WriteString("\n</details>\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
}
