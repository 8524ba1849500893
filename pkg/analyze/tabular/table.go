package tabular

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// A Table is rows of cells. The first row holds the heads of the columns; all rows have as
// many cells.
type Table struct {
	Rows [][]string
	// Left holds the heads of the left-aligned columns, besides the first column. All other
	// columns are right-aligned.
	Left []string
}

// AllLeft returns a table whose columns are all left-aligned.
func AllLeft(rows [][]string) Table {
	if len(rows) == 0 {
		return Table{}
	}
	return Table{Rows: rows, Left: rows[0]}
}

// left reports whether column i is left-aligned.
func (t *Table) left(i int) bool { return i == 0 || slices.Contains(t.Left, t.Rows[0][i]) }

// Text formats the table as lines that begin with indent, two spaces between columns; ""
// without rows. Numbers in right-aligned columns are aligned at their decimal points. Columns
// without any text are left out. A table wider than width characters is split into parts below
// each other, and each part repeats the first column; width 0 is no limit.
func (t Table) Text(indent string, width int) string {
	if len(t.Rows) == 0 {
		return ""
	}
	rows := t.aligned()
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	part := func(from, to int) {
		for _, r := range rows {
			b.WriteString(t.line(r, widths, indent, from, to))
		}
	}
	from, used := 1, len(indent)+widths[0]
	for i := 1; i < len(widths); i++ {
		if widths[i] == 0 {
			continue
		}
		if width > 0 && i > from && used+2+widths[i] > width {
			part(from, i)
			b.WriteByte('\n')
			from, used = i, len(indent)+widths[0]
		}
		used += 2 + widths[i]
	}
	part(from, len(widths))
	return b.String()
}

// aligned returns the rows with the decimal points of right-aligned columns aligned.
func (t *Table) aligned() [][]string {
	rows := report.AlignPoints(t.Rows, 1)
	for i, r := range t.Rows {
		for j, c := range r {
			if t.left(j) {
				rows[i][j] = c
			}
		}
	}
	return rows
}

// line returns the first cell of a row and its cells from column from up to, not including,
// column to.
func (t *Table) line(row []string, widths []int, indent string, from, to int) string {
	var b strings.Builder
	b.WriteString(indent)
	for i, c := range row {
		if widths[i] == 0 || i > 0 && (i < from || i >= to) {
			continue
		}
		if b.Len() > len(indent) {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if t.left(i) {
			b.WriteString(c + pad)
		} else {
			b.WriteString(pad + c)
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// Markdown formats the table after an empty line; "" without rows.
func (t Table) Markdown() string {
	if len(t.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte('\n')
	for i, r := range t.Rows {
		b.WriteByte('|')
		for _, c := range r {
			b.WriteString(" " + sanitize.Markdown(c) + " |")
		}
		b.WriteByte('\n')
		if i > 0 {
			continue
		}
		b.WriteByte('|')
		for j := range r {
			if t.left(j) {
				b.WriteString(" --- |")
			} else {
				b.WriteString(" ---: |")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
