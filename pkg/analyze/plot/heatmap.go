package plot

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/report"
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
	shared := o.Bins
	if shared == nil {
		shared = BinsByName(runs)
	}
	for _, c := range all {
		name := ""
		if len(all) > 1 {
			name = c.name + ": "
		}
		bins := shared[report.LevelName(c.level.Experiment)]
		reason := why(runs, "itl_ns", "no answer has two token events")
		time := heat(&c.level.GapsByTime, &bins.times)
		f.Panels = append(f.Panels, svg.Panel{
			Title: name + "ITL over time", Cells: time, NoData: whyUntimed(runs, reason),
			X: svg.Axis{Label: "time since the start of the run", Unit: svg.Nanoseconds, Tight: true},
			Y: gapAxis(time),
		})
		position := heat(&c.level.GapsByPosition, &bins.positions)
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

// HeatmapBins are the bins that the heat maps of levels with the same name share, so that they can be compared.
type HeatmapBins struct{ times, positions bins }

// BinsByName returns the bins of the heat maps of the levels with each name.
func BinsByName(runs []*view.Run) map[string]*HeatmapBins {
	type maps struct{ times, positions []*view.Heatmap }
	byName := map[string]*maps{}
	for _, r := range runs {
		for i := range r.Levels {
			l := &r.Levels[i]
			name := report.LevelName(l.Experiment)
			m := byName[name]
			if m == nil {
				m = &maps{}
				byName[name] = m
			}
			if l.GapsByTime.N > 0 {
				m.times = append(m.times, &l.GapsByTime)
			}
			if l.GapsByPosition.N > 0 {
				m.positions = append(m.positions, &l.GapsByPosition)
			}
		}
	}
	all := map[string]*HeatmapBins{}
	for name, m := range byName {
		all[name] = &HeatmapBins{binsOf(m.times, timeBounds(m.times)), binsOf(m.positions, bounds(m.positions, columnsOf))}
	}
	return all
}

// bins are the bounds of the columns and rows of heat maps. All gaps far below the median of all heat maps are
// in one row from 0.
type bins struct{ columns, rows []float64 }

// binsOf returns the bins of heat maps; columns are the bounds of all of their columns. Adjacent bins are joined
// until at most mostColumns and mostRows remain.
func binsOf(all []*view.Heatmap, columns []float64) bins {
	if len(all) == 0 {
		return bins{}
	}
	y := bounds(all, rowsOf)
	first := shortRows(all, y)
	b := bins{every(columns, joined(len(columns)-1, mostColumns)), every(y[first:], joined(len(y)-1-first, mostRows))}
	if first > 0 {
		b.rows = append([]float64{0}, b.rows...)
	}
	return b
}

// gapAxis returns the axis of the gaps, with room for a row from 0.
func gapAxis(c *svg.Cells) svg.Axis {
	a := svg.Axis{Label: "ITL", Unit: svg.Nanoseconds, Scale: svg.Log, Tight: true}
	if c != nil && c.Y[0] == 0 {
		a.Include = []float64{c.Y[1] * 0.8}
	}
	return a
}

func columnsOf(h *view.Heatmap) []float64 { return h.X }
func rowsOf(h *view.Heatmap) []float64    { return h.Y }

// bounds returns all bounds of heat maps in ascending order. Their scales have the same bounds where they
// overlap.
func bounds(all []*view.Heatmap, of func(*view.Heatmap) []float64) (x []float64) {
	for _, h := range all {
		x = append(x, of(h)...)
	}
	slices.Sort(x)
	return slices.Compact(x)
}

// timeBounds returns at most mostColumns+1 bounds for the columns of heat maps over time: from the earliest, in
// steps of the widest column or a multiple of it. Each width is a power of two times the same base width.
func timeBounds(all []*view.Heatmap) (x []float64) {
	from, to, width := math.Inf(1), math.Inf(-1), 0.0
	for _, h := range all {
		from, to = min(from, h.X[0]), max(to, h.X[len(h.X)-1])
		width = max(width, h.X[1]-h.X[0])
	}
	if len(all) == 0 {
		return nil
	}
	n := int(math.Ceil((to - from) / width)) // of the widest column; billions where a clock is wrong
	for i := 0; i < n; i += joined(n, mostColumns) {
		x = append(x, from+float64(float64(i)*width))
	}
	return append(x, from+float64(float64(n)*width))
}

// heat returns the cells of h; nil if h has no gaps. A column of h counts in the column of b that holds its
// middle, and a row likewise.
func heat(h *view.Heatmap, b *bins) *svg.Cells {
	if h.N == 0 {
		return nil
	}
	c := &svg.Cells{X: b.columns, Y: b.rows, Of: "gap"}
	rows := len(c.Y) - 1
	c.Counts = make([]uint64, (len(c.X)-1)*rows)
	for i := range len(h.X) - 1 {
		column := binOf(c.X, h.X[i], h.X[i+1])
		for j := range len(h.Y) - 1 {
			c.Counts[column*rows+binOf(c.Y, h.Y[j], h.Y[j+1])] += uint64(h.At(i, j))
		}
	}
	return c
}

// binOf returns the bin that holds the middle between low and high.
func binOf(edges []float64, low, high float64) int {
	i, found := slices.BinarySearch(edges, low+(high-low)/2)
	if !found {
		i--
	}
	return i
}

// shortRows returns the number of rows between the bounds y that are far below the median of all gaps; 0 if
// no gap is in them.
func shortRows(all []*view.Heatmap, y []float64) int {
	sums := make([]int64, len(y)-1)
	n := int64(0)
	for _, h := range all {
		n += h.N
		for j := range len(h.Y) - 1 {
			row := binOf(y, h.Y[j], h.Y[j+1])
			for i := range len(h.X) - 1 {
				sums[row] += int64(h.At(i, j))
			}
		}
	}
	below, median := int64(0), 0
	for j, count := range sums {
		if below += count; 2*below >= n {
			median = j
			break
		}
	}
	first := 0
	for first < median && y[first+1] <= y[median]*shortest {
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
