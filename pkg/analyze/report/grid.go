package report

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A grid is text in columns: the first left-aligned, the others right-aligned,
// numbers by their decimal points.
type grid struct {
	rows   [][]string
	indent string
	gap    int // spaces between columns; 0 means 2
	left   int // columns that are left-aligned; 0 means 1
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// lefts returns the number of left-aligned columns.
func (g *grid) lefts() int { return max(g.left, 1) }

func (g *grid) space() int {
	if g.gap == 0 {
		return 2
	}
	return g.gap
}

// write writes the rows in lines of at most limit characters; 0 means no limit. It writes
// a wider table in parts below each other, each with the left-aligned columns. It cuts
// trailing spaces. Characters that fill two cells of a terminal count as one.
func (g *grid) write(w io.StringWriter, limit int) error {
	rows := g.pointed()
	widths := columnWidths(rows)
	if limit > 0 {
		g.narrow(rows, widths, limit)
	}
	for i, columns := range g.parts(widths, limit) {
		if i > 0 {
			if _, err := w.WriteString("\n"); err != nil {
				return err
			}
		}
		for _, row := range rows {
			if _, err := w.WriteString(g.line(row, widths, columns) + "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// spread sets the gap between columns to two spaces, or to one if a line would exceed
// limit characters.
func (g *grid) spread(limit int) {
	g.gap = 2
	if g.width(columnWidths(g.pointed())) > limit {
		g.gap = 1
	}
}

// width returns the length of a line with all columns.
func (g *grid) width(widths []int) int {
	n := len(g.indent)
	for i, w := range widths {
		if i > 0 {
			n += g.space()
		}
		n += w
	}
	return n
}

// narrow cuts cells of the left-aligned columns, the widest first, until they and
// the widest other column fit a line. Numbers are never cut.
func (g *grid) narrow(rows [][]string, widths []int, limit int) {
	const least = 8
	other := 0
	for _, w := range widths[min(g.lefts(), len(widths)):] {
		other = max(other, w+g.space())
	}
	for {
		used, widest := len(g.indent)+other, 0
		for i := range min(g.lefts(), len(widths)) {
			if i > 0 {
				used += g.space()
			}
			used += widths[i]
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if len(widths) == 0 || used <= limit || widths[widest] <= least {
			return
		}
		widths[widest] = max(least, widths[widest]-(used-limit))
		for _, row := range rows {
			if widest < len(row) {
				row[widest] = sanitize.Fit(row[widest], widths[widest])
			}
		}
	}
}

// parts splits the columns that are not left-aligned into runs that fit a line
// with the left-aligned ones. Each has one column at least.
func (g *grid) parts(widths []int, limit int) [][]int {
	var all [][]int
	used := len(g.indent)
	for i := range min(g.lefts(), len(widths)) {
		used += widths[i] + g.space()
	}
	n := used - g.space()
	var part []int
	for i := g.lefts(); i < len(widths); i++ {
		if len(part) > 0 && limit > 0 && n+g.space()+widths[i] > limit {
			all, part, n = append(all, part), nil, used-g.space()
		}
		part = append(part, i)
		n += g.space() + widths[i]
	}
	return append(all, part)
}

// line returns a line with the left-aligned columns of a row and the given other columns.
func (g *grid) line(row []string, widths, columns []int) string {
	var b strings.Builder
	b.WriteString(g.indent)
	put := func(i int) {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", g.space()))
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(row[i]))
		if i < g.lefts() {
			b.WriteString(row[i] + pad)
		} else {
			b.WriteString(pad + row[i])
		}
	}
	for i := range min(g.lefts(), len(row)) {
		put(i)
	}
	for _, i := range columns {
		if i < len(row) {
			put(i)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// pointed returns the rows with the numbers of the right-aligned columns aligned
// at their decimal points.
func (g *grid) pointed() [][]string { return AlignPoints(g.rows, g.lefts()) }

// AlignPoints returns a copy of rows with spaces after numbers such as 31.1 and
// "31.1 ms", so that the decimal points of a right-aligned column line up. Columns
// with an index below first, and other text, stay unchanged.
func AlignPoints(rows [][]string, first int) [][]string {
	var places []int    // characters from the point on, by column
	var fractions []int // of all cells
	for _, row := range rows {
		for j, cell := range row {
			if j == len(places) {
				places = append(places, 0)
			}
			n := fraction(cell)
			places[j], fractions = max(places[j], n), append(fractions, n)
		}
	}
	aligned := make([][]string, len(rows))
	for i, row := range rows {
		aligned[i] = append([]string(nil), row...)
		for j, n := range fractions[:len(row)] {
			if j >= first && n >= 0 && n < places[j] {
				aligned[i][j] += strings.Repeat(" ", places[j]-n)
			}
		}
		fractions = fractions[len(row):]
	}
	return aligned
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
