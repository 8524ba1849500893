package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
)

// A Table has a column of names and columns of floats.
type Table struct {
	Columns []string
	Rows    []Row
}

// A Row is a name and a value for each of the table's columns.
type Row struct {
	Name   string
	Values []float64
}

// minPadding is the least difference between the widths of a column and of its name.
const minPadding = 2

// String returns the lines of the table.
func (t *Table) String() string {
	width := minPadding // of the first column, which has no name
	for _, r := range t.Rows {
		width = max(width, utf8.RuneCountInString(r.Name))
	}
	var head, line strings.Builder
	rows := make([]strings.Builder, len(t.Rows))
	head.WriteString("| " + strings.Repeat(" ", width) + " |")
	line.WriteString("|:" + strings.Repeat("-", width+1) + "|")
	for i, r := range t.Rows {
		rows[i].WriteString("| " + r.Name + strings.Repeat(" ", width-utf8.RuneCountInString(r.Name)) + " |")
	}
	for c, name := range t.Columns {
		cells := t.column(c)
		width := utf8.RuneCountInString(name) + minPadding
		for _, cell := range cells {
			width = max(width, len(cell))
		}
		head.WriteString(" " + strings.Repeat(" ", width-utf8.RuneCountInString(name)) + name + " |")
		line.WriteString(strings.Repeat("-", width+1) + ":|")
		for i, cell := range cells {
			rows[i].WriteString(" " + strings.Repeat(" ", width-len(cell)) + cell + " |")
		}
	}
	var b strings.Builder
	b.WriteString(head.String() + "\n" + line.String() + "\n")
	for i := range rows {
		b.WriteString(rows[i].String() + "\n")
	}
	return b.String()
}

// column formats the values of a column and puts blanks behind them, so that
// their decimal points are aligned.
func (t *Table) column(c int) []string {
	cells := make([]string, len(t.Rows))
	most := -1
	for i, r := range t.Rows {
		cells[i] = py.General(r.Values[c])
		most = max(most, decimals(cells[i]))
	}
	for i, s := range cells {
		cells[i] = s + strings.Repeat(" ", most-decimals(s))
	}
	return cells
}

// decimals is the number of characters behind the point, or behind the e of a
// number without one; −1 for a number with neither.
func decimals(s string) int {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return -1
	}
	at := strings.LastIndexByte(s, '.')
	if at < 0 {
		at = strings.LastIndexByte(s, 'e')
	}
	if at < 0 {
		return -1
	}
	return len(s) - at - 1
}
