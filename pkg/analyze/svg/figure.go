package svg

import (
	"math"
	"slices"
)

// A Figure is a picture: title, legend, and one or more panels.
type Figure struct {
	Title    string
	Subtitle string
	// Desc describes the picture for a screen reader. A summary of each panel follows it.
	Desc    string
	Width   int // in pixels; 0: 760; at least 320
	Columns int // panels side by side; 0: 1
	Panels  []Panel
	Notes   []string // lines below the panels
}

// A Panel is a pair of axes and what is drawn on them: first cells, then series, then lines.
type Panel struct {
	Title  string // "" for none
	Aside  string // at the right end above the axes, such as a number of values
	X, Y   Axis   // an X without a Label has no unit either, for panels in one column
	Height int    // of the area inside the axes, in pixels; 0: 240
	Cells  *Cells
	Series []Series
	Lines  []Line
	// NoData says why there is nothing to draw. It shows only if there is nothing.
	NoData string
}

// A Series is data of one name and style.
type Series struct {
	// Name stands in the legend. Series with the same name and style share an entry, also across
	// panels; a series without a name has none.
	Name string
	// Style selects color, dash and marker; 64 styles differ, then they repeat. It is not negative.
	Style  int
	Shape  Shape
	Points []Point
}

// A Shape says how the points of a series are drawn.
type Shape int

// The shapes. A line breaks at a point that has no place on the axes.
const (
	LinePoints Shape = iota // a line with a marker at each point
	Lines                   // a line, with a marker only at points that have a Title
	Steps                   // a horizontal line from each point to the next, marked as Lines
	Points                  // open markers
	Bars                    // a bar from the bottom of the panel
)

// A Point is a value at a place. A coordinate that is NaN or infinite, or that is 0 or less on a
// logarithmic axis, means that the value is absent.
type Point struct {
	X, Y float64
	// XInterval and YInterval are drawn as error bars. An infinite end reaches to the edge of the
	// panel.
	XInterval, YInterval Interval
	Label                string // drawn beside the point where there is room
	Title                string // first line of the text that shows when the pointer is on the mark
}

// An Interval is a range of values. The zero value is none, as is every other one whose Low is not
// less than its High.
type Interval struct{ Low, High float64 }

func (i Interval) ok() bool { return i.Low < i.High }

// eachEnd calls f with the pixel of each end that is finite; low and high are the pixels of the ends.
func (i Interval) eachEnd(low, high float64, f func(at float64)) {
	if !math.IsInf(i.Low, 0) {
		f(low)
	}
	if !math.IsInf(i.High, 0) {
		f(high)
	}
}

// A Line is a reference line across the panel.
type Line struct {
	Vertical bool
	At       float64  // NaN for a band without a line
	Band     Interval // shaded; an infinite end reaches to the edge
	Label    string
	Quiet    bool // thin and gray: a mark of time, not a limit
}

// Cells are the counts of a heat map.
type Cells struct {
	// X and Y are the edges of the columns and rows, ascending, one more than there are columns
	// and rows.
	X, Y []float64
	// Counts holds the count of column i and row j at i*(len(Y)-1)+j. A count of 0 is not drawn.
	Counts []uint64
	Of     string // what is counted, in the singular: "gap"
}

// at returns the count of column i and row j; 0 if Counts is too short.
func (c *Cells) at(i, j int) uint64 {
	if k := i*(len(c.Y)-1) + j; k < len(c.Counts) {
		return c.Counts[k]
	}
	return 0
}

// most returns the highest count.
func (c *Cells) most() uint64 {
	most := uint64(0)
	for i := range len(c.X) - 1 {
		for j := range len(c.Y) - 1 {
			most = max(most, c.at(i, j))
		}
	}
	return most
}

// A panel is a panel of a picture, with its rulers.
type panel struct {
	*Panel
	x, y   *ruler
	height float64 // of the area inside the axes, as wide
	wide   float64
	left   float64 // room for the labels of y

	xs, ys   []float64 // the values that the axes cover
	hasData  bool      // there is something to draw
	absent   int       // points at 0 or below on a logarithmic axis
	lines    []Line    // that are near enough to the data to be drawn
	far      []Line    // the others
	key      []heatStep
	labels   labels
	bars     int // series of bars
	barsDone int // that are drawn
}

// Room around the area inside the axes.
const (
	headRoom  = 24.0
	keyRoom   = 20.0
	tickRoom  = 20.0
	labelRoom = 17.0
	rightRoom = 10.0
)

// top returns the room above the axes.
func (p *panel) top() float64 {
	room := 6.0
	if p.Title != "" || p.Aside != "" || p.y.format.label(p.Y.Label) != "" {
		room = headRoom
	}
	if p.key != nil {
		room += keyRoom
	}
	return room
}

// bottom returns the room below the axes.
func (p *panel) bottom() float64 {
	if p.X.Label == "" {
		return tickRoom
	}
	return tickRoom + labelRoom
}

// columns returns the number of columns of panels, and the width of each.
func (p *picture) columns() (n int, each float64) {
	n = max(1, p.Columns)
	return n, (p.width - 2*margin - float64(n-1)*betweenPanels) / float64(n)
}

// layPanels makes the rulers of all panels. The axes of the panels of a column are aligned.
func (p *picture) layPanels() {
	columns, each := p.columns()
	lefts := make([]float64, columns)
	for i := range p.Panels {
		one := &panel{Panel: &p.Panels[i], height: defaultHeight}
		if h := p.Panels[i].Height; h > 0 {
			one.height = float64(max(leastHeight, h))
		}
		one.scan()
		p.panels = append(p.panels, one)
		for _, t := range one.y.ticks {
			lefts[i%columns] = max(lefts[i%columns], min(each/3, width(t.text, tickSize)))
		}
	}
	for i, one := range p.panels {
		one.left = lefts[i%columns] + 10
		one.wide = each - one.left - rightRoom
		one.x = newRuler(&one.X, one.xs, 0, one.wide, 72)
	}
}

// scan collects the values that the axes cover, and makes the ruler of y.
func (p *panel) scan() {
	for i := range p.Series {
		p.scanSeries(&p.Series[i])
	}
	if c := p.Cells; c != nil && c.most() > 0 {
		p.hasData = true
		p.key = heatKey(c.most())
		p.xs, p.ys = append(p.xs, c.X...), append(p.ys, c.Y...)
	}
	if p.hasData {
		p.scanLines()
	} else {
		p.xs, p.ys = nil, nil
	}
	p.y = newRuler(&p.Y, p.ys, p.height, 0, 44)
}

func (p *panel) scanSeries(s *Series) {
	for _, v := range s.Points {
		if v.X <= 0 && p.X.Scale == Log || v.Y <= 0 && p.Y.Scale == Log {
			p.absent++
		}
		if math.IsNaN(p.X.place(v.X)) || math.IsNaN(p.Y.place(v.Y)) {
			continue
		}
		p.hasData = true
		p.xs, p.ys = append(p.xs, v.X), append(p.ys, v.Y)
		if v.XInterval.ok() {
			p.xs = append(p.xs, v.XInterval.Low, v.XInterval.High)
		}
		if v.YInterval.ok() {
			p.ys = append(p.ys, v.YInterval.Low, v.YInterval.High)
			if math.IsInf(v.YInterval.High, 1) && v.Y > 0 {
				p.ys = append(p.ys, v.Y*1.1) // room that shows the line to the edge
			}
		}
	}
	if s.Shape == Bars {
		p.bars++
		p.ys = append(p.ys, 0)
	}
}

func (p *panel) scanLines() {
	var xs, ys []float64
	for _, l := range p.Lines {
		if l.Vertical && tooFar(&p.X, p.xs, l.At) || !l.Vertical && tooFar(&p.Y, p.ys, l.At) {
			p.far = append(p.far, l)
			continue
		}
		p.lines = append(p.lines, l)
		if l.Vertical {
			xs = append(xs, l.At, l.Band.Low, l.Band.High)
		} else {
			ys = append(ys, l.At, l.Band.Low, l.Band.High)
		}
	}
	p.xs, p.ys = append(p.xs, xs...), append(p.ys, ys...)
}

// tooFar reports whether a line at v is so far from the data that showing both would leave no room for
// the data.
func tooFar(a *Axis, values []float64, v float64) bool {
	all, ok := spanOf(a, slices.Concat(values, a.Include))
	t := a.place(v)
	if !ok || math.IsNaN(t) {
		return false
	}
	all = widen(a, all)
	low, high := a.place(all.low), a.place(all.high)
	far := 3 * (high - low)
	return t < low-far || t > high+far
}
