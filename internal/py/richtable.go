package py

import (
	"strings"
	"unicode/utf8"
)

// A RichTable is a table of plain text. Each row has as many cells as there are
// columns; a cell may have several lines.
type RichTable struct {
	Title   string
	Columns []RichColumn
	Rows    [][]string
}

// A RichColumn is a column of a RichTable.
type RichColumn struct {
	Header string
	// NoWrap keeps each line of a cell on one line, and the column as it is as
	// long as another one can be narrowed.
	NoWrap bool
	// Left puts the text of the column, and its header, to the left.
	Left bool
}

// padding is the space on either side of a cell.
const padding = 1

// Render returns the lines of the table on a console that is that many
// characters wide, each ended by a line feed. Without columns it is an empty
// line.
func (t *RichTable) Render(width int) string {
	if len(t.Columns) == 0 {
		return "\n"
	}
	widths := t.widths(max(0, width-t.borders()))
	total := t.borders()
	for _, w := range widths {
		total += w
	}
	var lines []string
	if t.Title != "" {
		for _, l := range wrap(t.Title, total, true) {
			lines = append(lines, center(l, total))
		}
	}
	header := make([]string, len(t.Columns))
	for i := range t.Columns {
		header[i] = t.Columns[i].Header
	}
	lines = append(lines, rule(widths, "┏", "━", "┳", "┓"))
	lines = append(lines, t.row(header, widths, "┃", true)...)
	lines = append(lines, rule(widths, "┡", "━", "╇", "┩"))
	for _, r := range t.Rows {
		lines = append(lines, t.row(r, widths, "│", false)...)
	}
	lines = append(lines, rule(widths, "└", "─", "┴", "┘"))

	var b strings.Builder
	for _, l := range lines {
		b.WriteString(crop(l, width))
		b.WriteByte('\n')
	}
	return b.String()
}

// borders returns the width of the lines between and around the columns.
func (t *RichTable) borders() int { return len(t.Columns) + 1 }

// row returns the lines of a row between vertical lines of that kind. Cells
// with fewer lines than others are at the top, in the header at the bottom.
func (t *RichTable) row(cells []string, widths []int, vertical string, header bool) []string {
	columns := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		columns[i] = t.cell(c, i, widths[i])
		height = max(height, len(columns[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		var b strings.Builder
		b.WriteString(vertical)
		for i, c := range columns {
			k := n
			if header {
				k -= height - len(c)
			}
			if k >= 0 && k < len(c) {
				b.WriteString(c[k])
			} else {
				b.WriteString(strings.Repeat(" ", widths[i]))
			}
			b.WriteString(vertical)
		}
		lines[n] = b.String()
	}
	return lines
}

// cell returns the lines of a cell, each of the width of its column.
func (t *RichTable) cell(text string, column, width int) []string {
	inner := width - 2*padding
	if inner < 1 {
		return nil
	}
	var lines []string
	for _, l := range splitLines(text) {
		parts := []string{l}
		if !t.Columns[column].NoWrap {
			parts = wrap(l, inner, false)
		}
		for _, p := range parts {
			p = ellipsis(trimRight(p), inner)
			fill := strings.Repeat(" ", inner-length(p))
			if t.Columns[column].Left {
				p += fill
			} else {
				p = fill + p
			}
			lines = append(lines, strings.Repeat(" ", padding)+p+strings.Repeat(" ", padding))
		}
	}
	return lines
}

// rule returns a horizontal line.
func rule(widths []int, left, line, cross, right string) string {
	var b strings.Builder
	for i, w := range widths {
		if i == 0 {
			b.WriteString(left)
		} else {
			b.WriteString(cross)
		}
		b.WriteString(strings.Repeat(line, w))
	}
	return b.String() + right
}

// center puts text in the middle of a line, half a character to the left of it
// where that cannot be.
func center(text string, width int) string {
	text = trimRight(text)
	left := max(0, width-length(text)) / 2
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", max(0, width-length(text)-left))
}

// length returns the number of characters.
func length(s string) int { return utf8.RuneCountInString(s) }
