package llmperf

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
)

// A markdownTable prints a column of names and columns of floats as pandas and tabulate do
// (DataFrame.to_markdown):
//
//	|                |   Average |    Max |
//	|:---------------|----------:|-------:|
//	| Latency (ms)   |    374.15 | 557.66 |
//
// Columns of numbers are at least two wider than their names; numbers have six digits at most
// ("{:g}"), and their decimal points are aligned.
type markdownTable struct {
	columns []string
	rows    []markdownRow
}

// A markdownRow is a name and a value for each of the table's columns.
type markdownRow struct {
	name   string
	values []float64
}

// minMarkdownPadding is the least difference between the widths of a column and of its name.
const minMarkdownPadding = 2

// String returns the lines of the table.
func (t *markdownTable) String() string {
	width := minMarkdownPadding // of the first column, which has no name
	for _, r := range t.rows {
		width = max(width, utf8.RuneCountInString(r.name))
	}
	var head, line strings.Builder
	rows := make([]strings.Builder, len(t.rows))
	head.WriteString("| " + strings.Repeat(" ", width) + " |")
	line.WriteString("|:" + strings.Repeat("-", width+1) + "|")
	for i, r := range t.rows {
		rows[i].WriteString("| " + r.name + strings.Repeat(" ", width-utf8.RuneCountInString(r.name)) + " |")
	}
	for c, name := range t.columns {
		cells := t.column(c)
		width := utf8.RuneCountInString(name) + minMarkdownPadding
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
func (t *markdownTable) column(c int) []string {
	cells := make([]string, len(t.rows))
	most := -1
	for i, r := range t.rows {
		cells[i] = py.General(r.values[c])
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
