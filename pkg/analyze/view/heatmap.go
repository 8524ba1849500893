package view

import (
	"math"
	"math/bits"
)

// The scale of gaps: each power of two is divided into equal parts. The first bound is about a
// microsecond, the last about two minutes.
const (
	partBits  = 3
	parts     = 1 << partBits
	leastBits = 10
	mostBits  = 37
	gapRows   = (mostBits - leastBits) * parts
)

// The bits of a float64: the exponent, with a bias, above mantissaBits bits of the mantissa.
const (
	mantissaBits = 52
	exponentBias = 1023
)

// gapRow returns the row of a gap. A row is the exponent of the gap and the first bits of its mantissa.
func gapRow(ns int64) uint8 {
	row := int64(math.Float64bits(float64(ns))>>(mantissaBits-partBits)) - (exponentBias+leastBits)<<partBits
	if uint64(row) < gapRows {
		return uint8(row)
	}
	if ns < 1<<leastBits {
		return 0
	}
	return gapRows - 1
}

// gapCounts are the counts of a column by rows. Rows from gapRows on stay 0: every uint8 is an index, which
// saves a check for each gap.
type gapCounts [math.MaxUint8 + 1]uint32

// rowStart returns the shortest gap of a row.
func rowStart(row int) float64 {
	return float64(int64(parts+row&(parts-1)) << (leastBits - partBits + row>>partBits))
}

// positionColumn returns the column of a position from 1: exact up to 2·parts, then as the rows of gaps.
func positionColumn(position int) int {
	if position < parts {
		return position - 1
	}
	k := bits.Len(uint(position)) - 1
	return (k-partBits)<<partBits + position>>(k-partBits) - 1
}

// columnStart returns the first position of a column.
func columnStart(column int) float64 {
	if column < parts {
		return float64(column + 1)
	}
	c := column + 1 - parts
	return float64(int64(parts+c&(parts-1)) << (c >> partBits))
}

// A grid counts gaps in the cells of a heat map. A column without counts is nil.
type grid struct {
	columns []*gapCounts
	// positions holds the column of each position from 1, in a grid by position.
	positions []*gapCounts
	unused    []*gapCounts // columns without counts
}

// column returns a column to count in.
func (g *grid) column(i int) *gapCounts {
	for i >= len(g.columns) {
		g.columns = append(g.columns, nil)
	}
	if g.columns[i] == nil {
		if n := len(g.unused); n > 0 {
			g.columns[i], g.unused = g.unused[n-1], g.unused[:n-1]
		} else {
			g.columns[i] = &gapCounts{}
		}
	}
	return g.columns[i]
}

// pack returns the counts and empties the grid.
func (g *grid) pack() (cells []cell[uint32]) {
	for i, c := range g.columns {
		if c != nil {
			cells = packed(cells, i*len(c), c[:])
			g.unused = append(g.unused, c)
		}
	}
	clear(g.columns)
	g.columns, g.positions = g.columns[:0], g.positions[:0]
	return cells
}

// unpack fills the grid, which is empty.
func (g *grid) unpack(cells []cell[uint32]) {
	for _, c := range cells {
		const rows = len(gapCounts{})
		g.column(int(c.at) / rows)[int(c.at)%rows] = c.n
	}
}

// upTo returns the columns of the positions from 1 to n, to count in.
func (g *grid) upTo(n int) []*gapCounts {
	for p := len(g.positions) + 1; p <= n; p++ {
		g.positions = append(g.positions, g.column(positionColumn(p)))
	}
	return g.positions[:n]
}

// move moves the columns with an axis; columns that join are added up.
func (g *grid) move(m move) {
	var before [mostColumns]*gapCounts
	n := copy(before[:], g.columns)
	clear(g.columns)
	g.columns = g.columns[:0]
	for i, c := range before[:n] {
		if c == nil {
			continue
		}
		to := m.column(i)
		for to >= len(g.columns) {
			g.columns = append(g.columns, nil)
		}
		if g.columns[to] == nil {
			g.columns[to] = c
			continue
		}
		for row, n := range c {
			g.columns[to][row] += n
		}
		clear(c[:])
		g.unused = append(g.unused, c)
	}
}

// heatmap returns the heat map, cut to the columns and rows with counts. start returns the lower bound of
// a column.
func (g *grid) heatmap(start func(column int) float64) Heatmap {
	firstColumn, lastColumn, firstRow, lastRow := -1, -1, gapRows, -1
	for i, c := range g.columns {
		if c == nil {
			continue
		}
		if firstColumn < 0 {
			firstColumn = i
		}
		lastColumn = i
		for row, n := range c {
			if n > 0 {
				firstRow, lastRow = min(firstRow, row), max(lastRow, row)
			}
		}
	}
	var h Heatmap
	if firstColumn < 0 || lastRow < 0 {
		return h
	}
	h.X, h.Y = make([]float64, 0, lastColumn-firstColumn+2), make([]float64, 0, lastRow-firstRow+2)
	for i := firstColumn; i <= lastColumn+1; i++ {
		h.X = append(h.X, start(i))
	}
	for row := firstRow; row <= lastRow+1; row++ {
		h.Y = append(h.Y, rowStart(row))
	}
	h.Counts = make([]uint32, 0, (len(h.X)-1)*(len(h.Y)-1))
	for i := firstColumn; i <= lastColumn; i++ {
		c := g.columns[i]
		if c == nil {
			c = &gapCounts{}
		}
		for _, n := range c[firstRow : lastRow+1] {
			h.Counts = append(h.Counts, n)
			h.N += int64(n)
			h.Most = max(h.Most, n)
		}
	}
	return h
}
