package svg

import (
	"math"
	"slices"
)

// A panel is a panel of a picture, with its rulers.
type panel struct {
	*Panel
	x, y   *ruler
	height float64 // of the area inside the axes, as wide
	wide   float64
	left   float64 // room for the labels of y

	xs, ys   []float64 // the values that the axes cover
	any      bool      // there is something to draw
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
		p.any = true
		p.key = heatKey(c.most())
		p.xs, p.ys = append(p.xs, c.X...), append(p.ys, c.Y...)
	}
	if p.any {
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
		p.any = true
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
