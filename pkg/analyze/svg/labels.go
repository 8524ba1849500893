package svg

import (
	"math"
	"slices"
)

// A box is a part of a panel that is taken.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// labels finds room for texts inside a panel.
type labels struct {
	wide, high float64
	none       bool  // no text needs room, so that boxes need not be kept
	taken      boxes // by markers and texts
	crossed    boxes // by lines, over which a text can be read
}

// cellSize is the width and height of a cell of boxes.
const cellSize = 16

// boxes holds boxes by the cells of a grid that they touch, so that a search for the boxes at
// a place does not look at all of them.
type boxes map[[2]int][]box

// cells calls f with each cell of l that b touches, until f returns false. The cells at the
// edges also stand for everything beyond them.
func (l *labels) cells(b box, f func(cell [2]int) bool) {
	at := func(v, size float64) int { return int(min(max(v, 0), size+rightRoom) / cellSize) }
	for x := at(b.left, l.wide); x <= at(b.right, l.wide); x++ {
		for y := at(b.top, l.high); y <= at(b.bottom, l.high); y++ {
			if !f([2]int{x, y}) {
				return
			}
		}
	}
}

// add adds a box.
func (l *labels) add(all *boxes, b box) {
	if l.none || math.IsNaN(b.left+b.top+b.right+b.bottom) {
		return // it meets no box
	}
	if *all == nil {
		*all = boxes{}
	}
	l.cells(b, func(cell [2]int) bool {
		(*all)[cell] = append((*all)[cell], b)
		return true
	})
}

// meets reports whether b meets one of the boxes.
func (l *labels) meets(b box, all boxes) (found bool) {
	l.cells(b, func(cell [2]int) bool {
		found = slices.ContainsFunc(all[cell], b.meets)
		return !found
	})
	return found
}

// keep takes the room of a box.
func (l *labels) keep(b box) { l.add(&l.taken, b) }

// cross marks the room along a line.
func (l *labels) cross(x0, y0, x1, y1 float64) {
	const step = 5
	n := int(min(math.Hypot(x1-x0, y1-y0), l.wide+l.high)/step) + 1
	for i := range n + 1 {
		f := float64(i) / float64(n)
		x, y := x0+float64((x1-x0)*f), y0+float64((y1-y0)*f)
		l.add(&l.crossed, box{x - 2, y - 2, x + 2, y + 2})
	}
}

// place returns the first box that is inside the panel and free; the first that only lines cross if
// there is none.
func (l *labels) place(boxes []box) (b box, ok bool) {
	var inside []box
	for _, b := range boxes {
		if b.left >= 0 && b.top >= 0 && b.right <= l.wide+rightRoom && b.bottom <= l.high && !l.meets(b, l.taken) {
			inside = append(inside, b)
		}
	}
	for _, b := range inside {
		if !l.meets(b, l.crossed) {
			return b, true
		}
	}
	if inside != nil {
		return inside[0], true
	}
	return box{}, false
}

// halo returns the attributes of a text over the data: a rim in the color of the background.
func halo(attributes ...string) []string {
	return append(attributes, "fill", "currentColor", "font-size", px(tickSize), "stroke", palette[background].light, "stroke-width", "3", "stroke-linejoin", "round", "paint-order", "stroke")
}

// haloClass adds the class of a rim to the class of a role.
func haloClass(r role) []string {
	c := r.class()
	return []string{c[0], c[1] + " pa-halo", c[2], c[3]}
}

// labeled reports whether lines or points have labels.
func (p *panel) labeled() bool {
	return len(p.lines)+len(p.far) > 0 || slices.ContainsFunc(p.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Points, func(v Point) bool { return v.Label != "" })
	})
}

// bands draws the shaded bands.
func (p *panel) bands(w *writer) {
	for _, l := range p.lines {
		if !l.Band.ok() {
			continue
		}
		ruler := p.axisOf(&l)
		a, b := ruler.edge(l.Band.Low), ruler.edge(l.Band.High)
		if math.IsNaN(a + b) {
			continue
		}
		a, b = ruler.inside(min(a, b)), ruler.inside(max(a, b))
		d := "M0 " + px(a) + "H" + px(p.wide) + "M0 " + px(b) + "H" + px(p.wide)
		x, y, wide, high := 0.0, a, p.wide, b-a
		if l.Vertical {
			d = "M" + px(a) + " 0V" + px(p.height) + "M" + px(b) + " 0V" + px(p.height)
			x, y, wide, high = a, 0, b-a, p.height
		}
		w.begin("g", l.role().class()...)
		w.empty("rect", "", "x", px(x), "y", px(y), "width", px(wide), "height", px(high), "fill", "currentColor", "fill-opacity", "0.12")
		w.empty("path", "", "d", d, "stroke", "currentColor", "stroke-width", "1", "stroke-dasharray", "1 3")
		w.end()
		w.line()
	}
}

// referenceLines draws the reference lines and their labels.
func (p *panel) referenceLines(w *writer) {
	for _, l := range p.lines {
		ruler := p.axisOf(&l)
		at := ruler.at(l.At)
		if !math.IsNaN(at) {
			d := "M0 " + px(at) + "H" + px(p.wide)
			if l.Vertical {
				d = "M" + px(at) + " 0V" + px(p.height)
			}
			wide := "1.6"
			if l.Quiet {
				wide = "1"
			}
			w.empty("path", clean(l.Label), append(l.role().class(), "d", d, "stroke", "currentColor", "stroke-width", wide, "stroke-dasharray", "8 4")...)
			w.line()
		}
		if l.Label == "" {
			continue
		}
		if math.IsNaN(at) && l.Band.ok() {
			at = ruler.inside(ruler.edge(l.Band.High))
		}
		if !math.IsNaN(at) {
			p.lineLabel(w, &l, l.Label, at)
		}
	}
	for _, l := range p.far {
		arrow, at := "↑ ", 0.0
		switch over := l.At > p.axisOf(&l).covers.high; {
		case l.Vertical && over:
			arrow = "→ "
			at = p.wide
		case l.Vertical:
			arrow = "← "
		case !over:
			arrow, at = "↓ ", p.height
		}
		p.lineLabel(w, &l, arrow+l.Label, at)
	}
}

// role returns what the line is for.
func (l *Line) role() role {
	if l.Quiet {
		return quiet
	}
	return reference
}

// axisOf returns the ruler that a line crosses.
func (p *panel) axisOf(l *Line) *ruler {
	if l.Vertical {
		return p.x
	}
	return p.y
}

// lineLabel writes the label of a line: at the right end of a horizontal one, at the top of a vertical
// one; elsewhere if that place is taken.
func (p *panel) lineLabel(w *writer, l *Line, label string, at float64) {
	full := clean(label)
	s := fit(full, tickSize, p.wide-8)
	wide := width(s, tickSize)
	var places []box
	add := func(left, top float64) { places = append(places, box{left, top, left + wide, top + tickSize + 2}) }
	if l.Vertical {
		for i := range 5 {
			y := 2 + float64(i)*(tickSize+4)
			add(at+5, y)
			add(at-5-wide, y)
		}
	} else {
		for _, x := range []float64{p.wide - wide - 2, 4, (p.wide - wide) / 2} {
			add(x, at-tickSize-5)
			add(x, at+3)
		}
	}
	place, found := p.labels.place(places)
	if !found { // over the data, but inside the panel
		place = places[0]
		place.left = max(0, min(place.left, p.wide-wide))
		place.top = max(0, min(place.top, p.height-tickSize-2))
		place = box{place.left, place.top, place.left + wide, place.top + tickSize + 2}
	}
	p.labels.keep(place)
	w.label(l.role(), s, full, place)
}

// label writes a text into a box.
func (w *writer) label(r role, s, full string, at box) {
	w.begin("text", halo(append(haloClass(r), "x", px(at.left), "y", px(at.bottom-3))...)...)
	if s != full {
		w.element("title", full)
	}
	w.text(s)
	w.end()
	w.line()
}

// pointLabels writes the labels of points that have room.
func (p *panel) pointLabels(w *writer) {
	const high = tickSize + 2
	for i := range p.Series {
		for j := range p.Series[i].Points {
			v := &p.Series[i].Points[j]
			x, y := p.x.at(v.X), p.y.at(v.Y)
			if v.Label == "" || math.IsNaN(x+y) {
				continue
			}
			full := clean(v.Label)
			s := fit(full, tickSize, 140)
			wide := width(s, tickSize)
			var places []box
			for _, at := range [][2]float64{
				{x + 6, y - high - 2},
				{x - 6 - wide, y - high - 2},
				{x + 6, y + 3},
				{x - 6 - wide, y + 3},
				{x - wide/2, y - high - 6},
				{x - wide/2, y + 6},
				{x + 8, y - high/2},
				{x - 8 - wide, y - high/2},
			} {
				places = append(places, box{at[0], at[1], at[0] + wide, at[1] + high})
			}
			if b, ok := p.labels.place(places); ok {
				p.labels.keep(b)
				w.label(text, s, full, b)
			}
		}
	}
}
