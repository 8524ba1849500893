package diff

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// Text writes the comparison for people, in lines of at most width characters; 0 is no
// limit, and tables then have about 100. The first line is the [Result.Headline]. explain
// adds how it was judged: p-values, numbers of values, the values of each run, and why
// intervals are missing.
func Text(r *Result, width int, explain bool) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := r.units()
		line := func(indent, text string) { b.WriteString(report.Wrap(text, indent, indent+"  ", width)) }
		line("", r.Headline())
		b.WriteByte('\n')
		line("", r.title())
		line("", r.measured())
		if len(r.Differences) > 0 {
			b.WriteByte('\n')
			columns(&b, r.differenceRows(), 0, width)
		}
		for i := range r.Levels {
			l := &r.Levels[i]
			b.WriteByte('\n')
			line("", r.levelTitle(l))
			for _, part := range l.parts() {
				line("  ", sanitize.Text(part))
			}
			rows := [][]string{l.header(explain)}
			for j := range l.Rows {
				rows = append(rows, l.cells(&l.Rows[j], u, explain))
			}
			columns(&b, rows, 2, width)
			if rows := l.serverTable(u); rows != nil {
				b.WriteByte('\n')
				columns(&b, rows, 2, width)
			}
			if !explain {
				continue
			}
			for _, run := range l.perRun(u) {
				line("  ", "each "+run[0]+": "+run[1]+" → "+run[2])
			}
		}
		lines := r.lines()
		if explain {
			lines = append(lines, r.explanation()...)
		} else if len(r.Levels) > 0 && len(r.Refused()) == 0 {
			lines = append(lines, "* judged; --explain shows how, and why an interval is missing")
		}
		for i, note := range lines {
			if i == 0 {
				b.WriteByte('\n')
			}
			line("", note)
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// levelTitle returns the name of a level, and what was found there if the headline is
// about several levels.
func (r *Result) levelTitle(l *LevelResult) string {
	if len(r.Levels) == 1 || len(r.Refused()) > 0 {
		return sanitize.Text(l.Name)
	}
	return sanitize.Text(l.Name) + ": " + r.sentence(l)
}

// lines returns the levels that are not compared and the outcomes of the gates.
func (r *Result) lines() []string {
	var all []string
	if len(r.OldOnly) > 0 {
		all = append(all, "only in old: "+sanitize.Text(strings.Join(r.OldOnly, ", ")))
	}
	if len(r.NewOnly) > 0 {
		all = append(all, "only in new: "+sanitize.Text(strings.Join(r.NewOnly, ", ")))
	}
	for i := range r.Gates {
		g := &r.Gates[i]
		all = append(all, "gate "+g.Expr+" at "+sanitize.Text(g.Level)+": "+g.State.String()+": "+strings.Join(g.Because, ", "))
	}
	return all
}

// explanation returns how the comparison was judged.
func (r *Result) explanation() []string {
	var all []string
	if len(r.Unchecked) > 0 {
		all = append(all, "not recorded on either side, so taken to be the same: "+strings.Join(r.Unchecked, ", "))
	}
	return append(all, r.notes()...)
}

// columns writes rows as a table with blanks between the columns. An indented table has
// numbers: its columns after the first are aligned right, except the verdict. A table
// wider than limit characters is written in parts below each other, each with the first
// column; limit 0 is none.
func columns(b *strings.Builder, rows [][]string, indent, limit int) {
	if indent > 0 {
		rows = report.AlignPoints(rows, 1)
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	from, used := 1, indent+widths[0]
	for i := 1; i < len(widths); i++ {
		if widths[i] == 0 {
			continue
		}
		if limit > 0 && i > from && used+2+widths[i] > limit {
			columnRange(b, rows, widths, indent, from, i)
			b.WriteByte('\n')
			from, used = i, indent+widths[0]
		}
		used += 2 + widths[i]
	}
	columnRange(b, rows, widths, indent, from, len(widths))
}

// columnRange writes the first column of rows and the columns from, up to to.
func columnRange(b *strings.Builder, rows [][]string, widths []int, indent, from, to int) {
	for _, r := range rows {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", indent))
		for i, c := range r {
			if widths[i] == 0 || i > 0 && (i < from || i >= to) {
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
