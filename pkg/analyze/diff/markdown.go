package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// Markdown writes the comparison for a pull request.
func Markdown(r *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := r.units()
		fmt.Fprintf(&b, "### %s\n\n%s\n\n%s\n", sanitize.Markdown(r.Headline()), sanitize.Markdown(r.title()), sanitize.Markdown(r.measured()))
		if len(r.Differences) > 0 {
			table(&b, r.differenceRows(), false)
		}
		for i := range r.Levels {
			l := &r.Levels[i]
			fmt.Fprintf(&b, "\n#### %s\n", sanitize.Markdown(r.levelTitle(l)))
			for _, line := range l.parts() {
				fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
			}
			rows := [][]string{l.header(false)}
			for j := range l.Rows {
				rows = append(rows, l.cells(&l.Rows[j], u, false))
			}
			table(&b, rows, true)
			if rows := l.serverTable(u); rows != nil {
				table(&b, rows, true)
			}
		}
		for _, line := range r.lines() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
		}
		b.WriteString("\n<details><summary>how it was judged</summary>\n")
		for i := range r.Levels {
			l := &r.Levels[i]
			rows := [][]string{{sanitize.Text(l.Name), "p", "n", "each old run", "each new run"}}
			runs := l.perRun(u)
			for j := range l.Rows {
				row := &l.Rows[j]
				if !row.Primary {
					continue
				}
				cells := []string{row.Metric.Name, pValue(row.Adjusted), counts(row.Old.N, row.New.N), "", ""}
				if len(runs) > 0 {
					cells[3], cells[4] = runs[0][1], runs[0][2]
					runs = runs[1:]
				}
				rows = append(rows, cells)
			}
			table(&b, rows, false)
		}
		for _, line := range r.explanation() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
		}
		b.WriteString("\n</details>\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// table writes rows as a table, the columns after the first aligned right or
// not.
func table(b *strings.Builder, rows [][]string, right bool) {
	b.WriteByte('\n')
	for i, r := range rows {
		b.WriteByte('|')
		for _, c := range r {
			b.WriteString(" " + sanitize.Markdown(c) + " |")
		}
		b.WriteByte('\n')
		if i > 0 {
			continue
		}
		b.WriteByte('|')
		for j, c := range r {
			if right && j > 0 && c != "verdict" {
				b.WriteString(" ---: |")
			} else {
				b.WriteString(" --- |")
			}
		}
		b.WriteByte('\n')
	}
}
