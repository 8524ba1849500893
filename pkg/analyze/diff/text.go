package diff

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// Text writes the comparison for people, in tables of about 100 columns.
func Text(r *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := r.units()
		fmt.Fprintf(&b, "%s\n%s\n", r.title(), r.measured())
		if len(r.Differences) > 0 {
			b.WriteByte('\n')
			columns(&b, r.differenceRows(), 0)
		}
		for i := range r.Levels {
			l := &r.Levels[i]
			fmt.Fprintf(&b, "\n%s\n", sanitize.Text(l.Name))
			for _, line := range l.parts() {
				fmt.Fprintf(&b, "  %s\n", sanitize.Text(line))
			}
			rows := [][]string{l.header()}
			for j := range l.Rows {
				rows = append(rows, l.cells(&l.Rows[j], u))
			}
			columns(&b, rows, 2)
			if rows := l.serverTable(u); rows != nil {
				b.WriteByte('\n')
				columns(&b, rows, 2)
			}
			for _, run := range l.perRun(u) {
				fmt.Fprintf(&b, "  each %s: %s → %s\n", run[0], run[1], run[2])
			}
		}
		for _, line := range r.lines() {
			fmt.Fprintf(&b, "\n%s", line)
		}
		if len(r.lines()) > 0 {
			b.WriteByte('\n')
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// lines are what stands below the tables.
func (r *Result) lines() []string {
	var all []string
	if len(r.OldOnly) > 0 {
		all = append(all, "only in old: "+sanitize.Text(strings.Join(r.OldOnly, ", ")))
	}
	if len(r.NewOnly) > 0 {
		all = append(all, "only in new: "+sanitize.Text(strings.Join(r.NewOnly, ", ")))
	}
	if len(r.Unchecked) > 0 {
		all = append(all, "not recorded on either side, so taken to be the same: "+strings.Join(r.Unchecked, ", "))
	}
	all = append(all, r.notes()...)
	for i := range r.Gates {
		g := &r.Gates[i]
		all = append(all, "gate "+g.Expr+" at "+sanitize.Text(g.Level)+": "+g.State.String()+": "+strings.Join(g.Because, ", "))
	}
	return all
}

// columns writes rows as a table with blanks between. Indented ones are of
// numbers: the columns after the first are aligned right, but for the verdict.
func columns(b *strings.Builder, rows [][]string, indent int) {
	if indent > 0 {
		rows = report.AlignPoints(rows, 1)
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", indent))
		for i, c := range r {
			if widths[i] == 0 {
				continue
			}
			if line.Len() > indent {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if indent > 0 && i > 0 && rows[0][i] != "verdict" {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
