package plot

import (
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

const (
	mostMaps    = 4  // levels of a heat map chart
	mostColumns = 48 // columns of a heat map
	mostRows    = 32
	// shortest is the part of the median below which gaps share a row.
	shortest = 1.0 / 16
)

// Heatmap draws the gaps between tokens over the time at which they ended and over the position in the
// answer, for each level. Stalls and the interference of prefills show as marks above the usual gaps.
func Heatmap(runs []*view.Run, o Options) *svg.Figure {
	width, columns := o.wide()
	all, note := curves(runs, mostMaps)
	f := &svg.Figure{
		Title: "Gaps between tokens", Width: width, Columns: columns, Subtitle: sentences(requests(runs), note),
		Desc: "How many gaps between token events had a length, over time and over the position in the answer.",
	}
	short := false
	for _, c := range all {
		name := c.name
		if len(all) > 1 {
			name += ": "
		} else {
			name = ""
		}
		reason := why(runs, "itl_ns", "no answer has two token events")
		time := heat(&c.level.GapsByTime)
		f.Panels = append(f.Panels, svg.Panel{
			Title: name + "ITL over time", Cells: time, NoData: whyUntimed(runs, reason),
			X: svg.Axis{Label: "time since the start of the run", Unit: svg.Nanoseconds, Tight: true},
			Y: gapAxis(time),
		})
		position := heat(&c.level.GapsByPosition)
		x := svg.Axis{Label: "position of the gap in the answer", Tight: true}
		if position != nil && position.X[len(position.X)-1] > 40*position.X[0] {
			x.Scale = svg.Log
		}
		f.Panels = append(f.Panels, svg.Panel{
			Title: name + "ITL by position", Cells: position, NoData: reason, X: x,
			Y: gapAxis(position),
		})
		for _, cells := range []*svg.Cells{time, position} {
			short = short || cells != nil && cells.Y[0] == 0
		}
	}
	if short {
		f.Subtitle = sentences(f.Subtitle, "The lowest row holds all shorter gaps, too.")
	}
	return f
}

// gapAxis returns the axis of the gaps, with room for a row from 0.
func gapAxis(c *svg.Cells) svg.Axis {
	a := svg.Axis{Label: "ITL", Unit: svg.Nanoseconds, Scale: svg.Log, Tight: true}
	if c != nil && c.Y[0] == 0 {
		a.Include = []float64{c.Y[1] * 0.8}
	}
	return a
}

// heat returns the cells of a heat map, with neighbors joined until there are few; nil without gaps.
// All gaps far below the median are in one row from 0.
func heat(h *view.Heatmap) *svg.Cells {
	if h.N == 0 {
		return nil
	}
	first := shortRows(h)
	across, down := joined(len(h.X)-1, mostColumns), joined(len(h.Y)-1-first, mostRows)
	c := &svg.Cells{X: every(h.X, across), Y: every(h.Y[first:], down), Of: "gaps"}
	short := 0 // rows before the row first
	if first > 0 {
		short = 1
		c.Y = append([]float64{0}, c.Y...)
	}
	rows := len(c.Y) - 1
	c.Counts = make([]uint64, (len(c.X)-1)*rows)
	for i := range len(h.X) - 1 {
		for j := range len(h.Y) - 1 {
			row := 0
			if j >= first {
				row = short + (j-first)/down
			}
			c.Counts[i/across*rows+row] += uint64(h.At(i, j))
		}
	}
	return c
}

// shortRows returns the number of rows far below the median; 0 if no gap is in them.
func shortRows(h *view.Heatmap) int {
	rows := len(h.Y) - 1
	sums := make([]int64, rows)
	for i := range len(h.X) - 1 {
		for j := range rows {
			sums[j] += int64(h.At(i, j))
		}
	}
	below, median := int64(0), 0
	for j, n := range sums {
		if below += n; 2*below >= h.N {
			median = j
			break
		}
	}
	first := 0
	for first < median && h.Y[first+1] <= h.Y[median]*shortest {
		first++
	}
	return first
}

// joined returns how many neighbors of n are joined so that at most most are left.
func joined(n, most int) int { return max(1, (n+most-1)/most) }

// every returns the edges of joined columns; the last column may be joined of fewer.
func every(edges []float64, n int) (all []float64) {
	for i := 0; i < len(edges)-1; i += n {
		all = append(all, edges[i])
	}
	return append(all, edges[len(edges)-1])
}
