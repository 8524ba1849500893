package runset

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// leftColumns are the heads of the left-aligned columns.
var leftColumns = []string{"", "differs", "at", "value", "in", "verdict", "step", "metric", "point", "runs", "level", "from"}

// TextTable formats rows, the header first, as lines that begin with indent. Numbers are
// aligned at their decimal points. Empty columns are left out. A table wider than width
// characters is split into parts below each other, and each part repeats the first column;
// width 0 is no limit.
func TextTable(rows [][]string, indent string, width int) string {
	if len(rows) == 0 {
		return ""
	}
	rows = report.AlignPoints(rows, 1)
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for from := 1; ; {
		to, used := from, len(indent)+widths[0]
		for to < len(widths) && (width == 0 || to == from || used+2+widths[to] <= width) {
			used += 2 + widths[to]
			to++
		}
		for _, r := range rows {
			b.WriteString(line(r, rows[0], widths, indent, from, to))
		}
		if to >= len(widths) {
			return b.String()
		}
		b.WriteByte('\n')
		from = to
	}
}

// line returns the first cell of a row and its cells from from up to, not including, to.
func line(row, header []string, widths []int, indent string, from, to int) string {
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
		if i == 0 || slices.Contains(leftColumns, header[i]) {
			b.WriteString(c + pad)
		} else {
			b.WriteString(pad + c)
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// MarkdownTable formats rows, the header first, as a Markdown table after an empty line; ""
// without rows.
func MarkdownTable(rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
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
			if j == 0 || slices.Contains(leftColumns, c) {
				b.WriteString(" --- |")
			} else {
				b.WriteString(" ---: |")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
