package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A grid is text in columns: the first left-aligned, the others right-aligned.
type grid struct {
	rows   [][]string
	indent string
	gap    int // spaces between columns; 0 means 2
	left   int // columns that are left-aligned; 0 means 1
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// width returns the length of the longest line in characters. Characters of
// two cells are taken for one: the grid holds numbers and names of ours.
func (g *grid) width() int {
	n := len(g.indent)
	for i, w := range g.widths() {
		if i > 0 {
			n += g.space()
		}
		n += w
	}
	return n
}

// spread puts two spaces between the columns where they fit a line.
func (g *grid) spread() {
	if g.gap = 2; g.width() > lineWidth {
		g.gap = 1
	}
}

func (g *grid) space() int {
	if g.gap == 0 {
		return 2
	}
	return g.gap
}

func (g *grid) widths() []int {
	var w []int
	for _, row := range g.rows {
		for i, cell := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], utf8.RuneCountInString(cell))
		}
	}
	return w
}

// write writes the rows; trailing spaces are cut.
func (g *grid) write(w io.StringWriter) error {
	widths := g.widths()
	for _, row := range g.rows {
		var b strings.Builder
		b.WriteString(g.indent)
		for i, cell := range row {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", g.space()))
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < max(g.left, 1) {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		if _, err := w.WriteString(strings.TrimRight(b.String(), " ") + "\n"); err != nil {
			return err
		}
	}
	return nil
}
