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
		fmt.Fprintf(&b, "### %s\n\n%s\n", sanitize.Markdown(r.title()), sanitize.Markdown(r.measured()))
		if len(r.Differences) > 0 {
			table(&b, r.differenceRows(), false)
		}
		for i := range r.Levels {
			l := &r.Levels[i]
			fmt.Fprintf(&b, "\n#### %s\n", sanitize.Markdown(l.Name))
			for _, line := range l.parts() {
				fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
			}
			rows := [][]string{l.header()}
			for j := range l.Rows {
				rows = append(rows, l.cells(&l.Rows[j], u))
			}
			table(&b, rows, true)
			if rows := l.serverTable(u); rows != nil {
				table(&b, rows, true)
			}
			if runs := l.perRun(u); runs != nil {
				b.WriteString("\n<details><summary>each run</summary>\n")
				table(&b, append([][]string{{"", "old", "new"}}, runs...), false)
				b.WriteString("\n</details>\n")
			}
		}
		for _, line := range r.lines() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(line))
		}
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
