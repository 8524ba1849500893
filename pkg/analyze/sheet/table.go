package sheet

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Table is rows of cells. The first rows hold the heads of the columns. Its first columns are
// its keys: they are left-aligned, and text repeats them in each part of a table that is too wide
// for a line. The other columns are right-aligned, numbers by their decimal points.
type Table struct {
	Rows  [][]string
	Heads int // number of rows that hold heads; 0 means 1
	Keys  int // number of columns that are keys; 0 means 1
	// Left holds the heads of the left-aligned columns, besides the keys.
	Left []string
	Gap  int // spaces between columns in text; 0 means 2
	// Caption stands above the table; "" for none.
	Caption string
	// Lines stand in text in place of the table; nil for the table.
	Lines []string
	// Rule is what Markdown writes below the head of a left-aligned and of a right-aligned column; ""
	// means "---" and "---:".
	Rule [2]string
}

// AllLeft returns a table whose columns are all left-aligned.
func AllLeft(rows [][]string) Table {
	if len(rows) == 0 {
		return Table{}
	}
	return Table{Rows: rows, Left: rows[0]}
}

// DropEmpty removes the columns after the first that have no text below the heads.
func (t *Table) DropEmpty() {
	for i := len(t.Rows[0]) - 1; i > 0; i-- {
		if !slices.ContainsFunc(t.Rows[max(t.Heads, 1):], func(row []string) bool { return row[i] != "" }) {
			for k := range t.Rows {
				t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
			}
		}
	}
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// keys returns the number of columns that are keys.
func (t *Table) keys() int { return max(t.Keys, 1) }

// space returns the number of spaces between columns.
func (t *Table) space() int {
	if t.Gap == 0 {
		return 2
	}
	return t.Gap
}

// left reports whether column i is left-aligned.
func (t *Table) left(i int) bool {
	return i < t.keys() || i < len(t.Rows[0]) && slices.Contains(t.Left, t.Rows[0][i])
}

// Text formats the table as lines that begin with indent; "" without rows. Columns without any
// text are left out. A table wider than width characters is split into parts below each other;
// width 0 is no limit. Characters that fill two cells of a terminal count as one.
func (t *Table) Text(indent string, width int) string {
	if len(t.Rows) == 0 {
		return ""
	}
	rows := t.aligned()
	widths := columnWidths(rows)
	var b strings.Builder
	for i, columns := range t.parts(widths, len(indent), width) {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, row := range rows {
			b.WriteString(t.line(row, widths, indent, columns) + "\n")
		}
	}
	return b.String()
}

// Fit makes the table fit lines of width characters that begin with indent characters, as far as
// possible: it reduces the space between columns to one character, and then cuts cells of the keys,
// the widest first, until they and the widest other column fit. Numbers are never cut.
func (t *Table) Fit(indent, width int) {
	t.Gap = 2
	rows := t.aligned()
	widths := columnWidths(rows)
	if t.Wide(indent) > width {
		t.Gap = 1
	}
	const least = 8
	other := 0
	for _, w := range widths[min(t.keys(), len(widths)):] {
		other = max(other, w+t.space())
	}
	for len(widths) > 0 {
		used, widest := indent+other, 0
		for i := range min(t.keys(), len(widths)) {
			if i > 0 {
				used += t.space()
			}
			used += widths[i]
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if used <= width || widths[widest] <= least {
			return
		}
		widths[widest] = max(least, widths[widest]-(used-width))
		for i, row := range t.Rows {
			if widest < len(row) {
				t.Rows[i] = slices.Clone(row)
				t.Rows[i][widest] = sanitize.Fit(sanitize.Text(row[widest]), widths[widest])
			}
		}
	}
}

// Wide returns the length of a line with all columns.
func (t *Table) Wide(indent int) int {
	for i, w := range columnWidths(t.aligned()) {
		if i > 0 {
			indent += t.space()
		}
		indent += w
	}
	return indent
}

// parts splits the columns that are no keys into runs that fit a line with the keys. Each has one
// column at least.
func (t *Table) parts(widths []int, indent, width int) [][]int {
	used := indent
	for i := range min(t.keys(), len(widths)) {
		used += widths[i] + t.space()
	}
	n := used - t.space()
	var all [][]int
	var part []int
	for i := t.keys(); i < len(widths); i++ {
		if widths[i] == 0 {
			continue
		}
		if len(part) > 0 && width > 0 && n+t.space()+widths[i] > width {
			all, part, n = append(all, part), nil, used-t.space()
		}
		part = append(part, i)
		n += t.space() + widths[i]
	}
	return append(all, part)
}

// line returns a line with the keys of a row and the given other columns.
func (t *Table) line(row []string, widths []int, indent string, columns []int) string {
	var b strings.Builder
	b.WriteString(indent)
	put := func(i int) {
		if i >= len(row) {
			return
		}
		if i > 0 {
			b.WriteString(strings.Repeat(" ", t.space()))
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(row[i]))
		if t.left(i) {
			b.WriteString(row[i] + pad)
		} else {
			b.WriteString(pad + row[i])
		}
	}
	for i := range t.keys() {
		put(i)
	}
	for _, i := range columns {
		put(i)
	}
	return strings.TrimRight(b.String(), " ")
}

// markdown formats the table with one row of heads; "" without rows.
func (t *Table) markdown() string {
	if len(t.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	write := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	heads := max(t.Heads, 1)
	head, rule := make([]string, len(t.Rows[0])), make([]string, len(t.Rows[0]))
	for i := range head {
		for _, row := range t.Rows[:heads] {
			if i < len(row) {
				head[i] = strings.TrimSpace(head[i] + " " + sanitize.Markdown(row[i]))
			}
		}
		switch left := t.left(i); {
		case left && t.Rule[0] == "":
			rule[i] = "---"
		case left:
			rule[i] = t.Rule[0]
		case t.Rule[1] == "":
			rule[i] = "---:"
		default:
			rule[i] = t.Rule[1]
		}
	}
	write(head)
	write(rule)
	for _, row := range t.Rows[heads:] {
		cells := make([]string, len(head))
		for i, cell := range row {
			cells[i] = sanitize.Markdown(cell)
		}
		write(cells)
	}
	return b.String()
}

// aligned returns the rows, safe to print, with spaces after numbers such as 31.1 and "31.1 ms", so
// that the decimal points of a right-aligned column line up. Other text stays as it is.
func (t *Table) aligned() [][]string {
	var places []int // characters from the point on, by column
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = make([]string, len(row))
		for j, cell := range row {
			if j == len(places) {
				places = append(places, 0)
			}
			rows[i][j] = sanitize.Text(cell)
			places[j] = max(places[j], fraction(rows[i][j]))
		}
	}
	for _, row := range rows {
		for j, cell := range row {
			if n := fraction(cell); n >= 0 && n < places[j] && !t.left(j) {
				row[j] += strings.Repeat(" ", places[j]-n)
			}
		}
	}
	return rows
}

// fraction returns the number of characters from the decimal point on of a number
// that may have a unit, 0 for a whole one without; −1 for other text.
func fraction(s string) int {
	s = strings.TrimLeft(s, "+-")
	whole := digits(s)
	end := whole
	if strings.HasPrefix(s[end:], ".") {
		end += 1 + digits(s[end+1:])
	}
	if unit, spaced := strings.CutPrefix(s[end:], " "); whole == 0 || s[end:] != "" && (!spaced || strings.ContainsAny(unit, " .(")) {
		return -1
	}
	return utf8.RuneCountInString(s) - whole
}

// digits returns the number of digits with which s begins.
func digits(s string) (n int) {
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// columnWidths returns the width of each column in characters.
func columnWidths(rows [][]string) []int {
	var w []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], utf8.RuneCountInString(cell))
		}
	}
	return w
}
