package py

import (
	"math"
	"strings"
	"unicode"
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

// splitLines splits at line feeds; the empty text is one empty line.
func splitLines(text string) []string { return strings.Split(text, "\n") }

// Wrap breaks a line between words so that the parts fit the width. Blanks stay at the ends of parts. A word that is
// too long is a part of its own.
func Wrap(line string, width int) []string { return wrap(line, width, false) }

// wrap breaks a line between words so that the parts fit the width. A word that
// is too long for a line begins a new one; it is broken where fold is set, else
// left too long.
func wrap(line string, width int, fold bool) []string {
	text := []rune(line)
	var breaks []int
	used := 0 // of the current line
	for start, end := 0, 0; start < len(text); start = end {
		end = wordEnd(text, start)
		n := len([]rune(trimRight(string(text[start:end]))))
		switch {
		case n <= width-used:
			used += end - start
			continue
		case n > width && fold && width > 0:
			for at := start; at < end; at += width {
				breaks = append(breaks, at)
				used = min(width, end-at)
			}
			continue
		case n > width || used > 0:
			breaks = append(breaks, start)
		}
		used = end - start
	}
	var parts []string
	from := 0
	for _, b := range breaks {
		if b > 0 {
			parts = append(parts, string(text[from:b]))
			from = b
		}
	}
	return append(parts, string(text[from:]))
}

// wordEnd returns the end of the word that begins at start, with the white
// space before and behind it.
func wordEnd(text []rune, start int) int {
	i := start
	for i < len(text) && unicode.IsSpace(text[i]) {
		i++
	}
	for i < len(text) && !unicode.IsSpace(text[i]) {
		i++
	}
	for i < len(text) && unicode.IsSpace(text[i]) {
		i++
	}
	return i
}

// ellipsis cuts text to the width, 1 or more, and shows it.
func ellipsis(text string, width int) string {
	if length(text) <= width {
		return text
	}
	return crop(text, width-1) + "…"
}

// crop cuts text to the width.
func crop(text string, width int) string {
	n := 0
	for i := range text {
		if n >= width {
			return text[:i]
		}
		n++
	}
	return text
}

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

// widths returns the width of each column with its padding, where most is what
// all of them may take.
func (t *RichTable) widths(most int) []int {
	natural := make([]int, len(t.Columns))
	for i := range t.Columns {
		natural[i] = t.measure(i, most)
	}
	widths := make([]int, len(natural))
	for i, w := range natural {
		widths[i] = max(w, 1)
	}
	if sum(widths) <= most {
		return widths
	}
	widths = t.collapse(widths, most)
	if excess := sum(widths) - most; excess > 0 { // all of them, evenly
		ratios := make([]int, len(widths))
		for i := range ratios {
			ratios[i] = 1
		}
		widths = reduce(excess, ratios, widths, widths)
	}
	for i, w := range widths {
		widths[i] = t.measure(i, max(0, w))
	}
	return widths
}

// measure returns how wide a column wants to be, most at most.
func (t *RichTable) measure(column, most int) int {
	switch {
	case most < 1:
		return 0
	case most-2*padding < 1:
		return most
	}
	widest := 0
	look := func(text string) {
		for _, l := range splitLines(text) {
			widest = max(widest, length(l))
		}
	}
	look(t.Columns[column].Header)
	for _, r := range t.Rows {
		look(r[column])
	}
	return min(widest+2*padding, most)
}

// collapse narrows the widest columns to the width of the next ones. It repeats this
// until all columns together fit most, or until the columns that may be narrowed have
// equal widths.
func (t *RichTable) collapse(widths []int, most int) []int {
	for excess := sum(widths) - most; excess > 0; excess = sum(widths) - most {
		first, second := -1, 0
		for i, w := range widths {
			if !t.Columns[i].NoWrap {
				first = max(first, w)
			}
		}
		ratios := make([]int, len(widths))
		for i, w := range widths {
			switch {
			case t.Columns[i].NoWrap:
			case w == first:
				ratios[i] = 1
			default:
				second = max(second, w)
			}
		}
		if first <= second {
			break
		}
		limits := make([]int, len(widths))
		for i := range limits {
			limits[i] = min(excess, first-second)
		}
		widths = reduce(excess, ratios, limits, widths)
	}
	return widths
}

// reduce takes total away from the values by their ratios, of each no more than
// its limit. Halves are rounded to even.
func reduce(total int, ratios, limits, values []int) []int {
	all := 0
	for i, r := range ratios {
		if limits[i] != 0 {
			all += r
		}
	}
	result := make([]int, len(values))
	for i, v := range values {
		if limits[i] != 0 && ratios[i] != 0 && all > 0 {
			part := math.RoundToEven(float64(ratios[i]*total) / float64(all))
			n := min(limits[i], int(part))
			v -= n
			total -= n
			all -= ratios[i]
		}
		result[i] = v
	}
	return result
}

func sum(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
