package svg

import (
	"math"
	"slices"
	"strings"
)

// drawPanels draws the panels, row by row.
func (p *picture) drawPanels() {
	columns, each := p.columns()
	for from := 0; from < len(p.panels); from += columns {
		row := p.panels[from:min(from+columns, len(p.panels))]
		top, high := 0.0, 0.0
		for _, one := range row {
			top = max(top, one.top())
			high = max(high, one.height+one.bottom())
		}
		for i, one := range row {
			x, y := margin+float64(i)*(each+betweenPanels)+one.left, p.height+top
			p.out.begin("g", "transform", "translate("+px(x)+" "+px(y)+")")
			p.out.line()
			one.draw(&p.out)
			p.out.end()
			p.out.line()
		}
		p.height += top + high + 6
	}
}

// draw draws the panel, with the upper left corner of the area inside the axes at 0, 0.
func (p *panel) draw(w *writer) {
	p.labels = labels{wide: p.wide, high: p.height, none: !p.labeled()}
	p.head(w)
	p.axes(w)
	if p.Cells != nil && p.key != nil {
		p.cells(w)
	}
	p.bands(w)
	for i := range p.Series {
		p.series(w, &p.Series[i])
	}
	p.referenceLines(w)
	p.pointLabels(w)
	if !p.any {
		lines := wrap(p.nothing(), textSize, p.wide-20, 4)
		for i, s := range lines {
			y := p.height/2 + (float64(i)-float64(len(lines)-1)/2)*textSize*lineHeight + 4
			w.element("text", s, append(quiet.class(), "x", px(p.wide/2), "y", px(y), "text-anchor", "middle", "fill", "currentColor")...)
		}
		w.line()
	}
}

// head writes the title, the name of the y axis and the key of the cells.
func (p *panel) head(w *writer) {
	y := -10.0
	if p.key != nil {
		y -= keyRoom
	}
	title, label := clean(p.Title), clean(p.y.format.label(p.Y.Label))
	room := p.left + p.wide
	if p.Aside != "" {
		aside := fit(clean(p.Aside), tickSize, room/2)
		w.element("text", aside, append(quiet.class(), "x", px(p.wide), "y", px(y), "text-anchor", "end", "font-size", px(tickSize), "fill", "currentColor")...)
		room -= width(aside, tickSize) + 8
	}
	if title != "" || label != "" {
		full := title
		if title != "" {
			title = fit(title, headSize*1.08, room)
			room -= width(title+"  ", headSize*1.08)
		}
		if label = fit(label, textSize, room); room < 30 {
			label = ""
		}
		w.begin("text", append(text.class(), "x", px(-p.left), "y", px(y), "fill", "currentColor", "font-size", px(headSize))...)
		if full != title {
			w.element("title", full)
		}
		if title != "" {
			w.element("tspan", title, "font-weight", "600")
		}
		if label != "" {
			more := append(quiet.class(), "fill", "currentColor", "font-size", px(textSize))
			if title != "" {
				more = append(more, "dx", "8")
			}
			w.element("tspan", label, more...)
		}
		w.end()
		w.line()
	}
	if p.key != nil {
		p.drawKey(w, -p.left, -keyRoom-2)
	}
}

// axes draws the grid, the axes, their ticks and the name of the x axis.
func (p *panel) axes(w *writer) {
	var lines strings.Builder
	for _, t := range p.y.ticks {
		lines.WriteString("M0 " + px(t.at) + "H" + px(p.wide))
	}
	if p.X.Scale != Names {
		for _, t := range p.x.ticks {
			lines.WriteString("M" + px(t.at) + " 0V" + px(p.height))
		}
	}
	if lines.Len() > 0 {
		w.empty("path", "", append(grid.class(), "d", lines.String(), "stroke", "currentColor")...)
		w.line()
	}
	w.begin("g", append(quiet.class(), "fill", "currentColor", "font-size", px(tickSize))...)
	w.empty("path", "", "d", "M0 0V"+px(p.height)+"H"+px(p.wide), "stroke", "currentColor", "fill", "none")
	last := math.Inf(1)
	for _, t := range p.y.ticks {
		if last-t.at < tickSize+2 { // ticks go up
			continue
		}
		last = t.at
		w.element("text", fit(clean(t.text), tickSize, p.left-8), "x", "-6", "y", px(t.at+4), "text-anchor", "end")
	}
	p.xTicks(w)
	if label := clean(p.x.format.label(p.X.Label)); p.X.Label != "" {
		w.element("text", fit(label, textSize, p.left+p.wide), "x", px(p.wide/2), "y", px(p.height+tickRoom+12), "text-anchor", "middle", "font-size", px(textSize))
	}
	w.end()
	w.line()
}

// xTicks writes the labels of the x axis that have room.
func (p *panel) xTicks(w *writer) {
	every, most := 1, 90.0
	if n := len(p.x.ticks); p.X.Scale == Names && n > 0 {
		// Names that are cut say little: fewer of them stay whole.
		slot, widest := p.wide/float64(n), 0.0
		for _, t := range p.x.ticks {
			widest = max(widest, width(clean(t.text), tickSize))
		}
		every = max(1, int(math.Ceil((min(widest, most)+8)/slot)))
	}
	free := math.Inf(-1)
	for i, t := range p.x.ticks {
		if i%every != 0 {
			continue
		}
		s := fit(clean(t.text), tickSize, most)
		half := width(s, tickSize) / 2
		x := min(max(t.at, half-p.left), p.wide+rightRoom+margin/2-half)
		if x-half < free {
			continue
		}
		free = x + half + 8
		w.empty("path", "", "d", "M"+px(t.at)+" "+px(p.height)+"v4", "stroke", "currentColor")
		w.element("text", s, "x", px(x), "y", px(p.height+16), "text-anchor", "middle")
	}
}

// series draws a series.
func (p *panel) series(w *writer, s *Series) {
	look := lookOf(s.Style)
	at := make([][2]float64, len(s.Points)) // pixels
	drawn := 0
	for i, v := range s.Points {
		at[i] = [2]float64{p.x.at(v.X), p.y.at(v.Y)}
		if math.IsNaN(at[i][1]) {
			at[i][0] = math.NaN()
		}
		if !math.IsNaN(at[i][0]) {
			drawn++
		}
	}
	w.begin("g", look.color.class()...)
	w.line()
	if d := path(at, s.Shape); d != "" {
		w.empty("path", "", "d", d, "stroke", "currentColor", "stroke-width", "1.8", "stroke-linejoin", "round", "stroke-dasharray", look.dash)
		w.line()
	}
	for i := 1; i < len(at) && s.Shape != Points && s.Shape != Bars && !p.labels.none; i++ {
		if !math.IsNaN(at[i-1][0] + at[i][0]) {
			p.labels.cross(at[i-1][0], at[i-1][1], at[i][0], at[i][1])
		}
	}
	p.intervals(w, s, at)
	wide := 0.0
	if s.Shape == Bars {
		wide = p.barWidth(at)
	}
	r := 3.6
	if float64(drawn)*9 > p.wide && s.Shape != Lines {
		r = 2.6
	}
	for i := range at {
		x, y := at[i][0], at[i][1]
		if math.IsNaN(x) {
			continue
		}
		switch s.Shape {
		case Lines, Steps:
			if s.Points[i].Title == "" && !alone(at, i) {
				continue
			}
			w.marker(look.marker, x, y, r, false, p.title(s, &s.Points[i]))
		case Bars:
			x += (float64(p.barsDone) - float64(p.bars-1)/2) * wide
			zero := p.inside(p.y.at(0))
			w.empty("rect", p.title(s, &s.Points[i]), barLook(look, x-wide*0.45, min(y, zero), wide*0.9, math.Abs(zero-y))...)
			if wide > 9 {
				w.marker(look.marker, x, y, 3, false, "")
			}
		default:
			w.marker(look.marker, x, y, r, s.Shape == Points, p.title(s, &s.Points[i]))
		}
		w.line()
		p.labels.keep(box{x - r, y - r, x + r, y + r})
	}
	if s.Shape == Bars {
		p.barsDone++
	}
	w.end()
	w.line()
}

// inside returns pixel y of the y axis, or the end of the axis that y lies beyond; the bottom for NaN.
func (p *panel) inside(y float64) float64 {
	if math.IsNaN(y) {
		return p.height
	}
	return p.y.inside(y)
}

// alone reports whether the point i has no neighbor to which a line leads.
func alone(at [][2]float64, i int) bool {
	before := i > 0 && !math.IsNaN(at[i-1][0])
	after := i+1 < len(at) && !math.IsNaN(at[i+1][0])
	return !before && !after
}

// path returns the line through points; "" for shapes without one.
func path(at [][2]float64, shape Shape) string {
	if shape == Points || shape == Bars {
		return ""
	}
	var b strings.Builder
	var last [2]float64
	joined := false
	for i, v := range at {
		if math.IsNaN(v[0]) {
			joined = false
			continue
		}
		switch {
		case !joined && alone(at, i):
			continue // a marker
		case !joined:
			b.WriteString("M" + px(v[0]) + " " + px(v[1]))
		case shape == Steps:
			b.WriteString("H" + px(v[0]))
			if px(v[1]) != px(last[1]) {
				b.WriteString("V" + px(v[1]))
			}
		default:
			b.WriteString("L" + px(v[0]) + " " + px(v[1]))
		}
		joined, last = true, v
	}
	return b.String()
}

// barWidth returns the width of a bar: the least distance of two points, divided among the series.
func (p *panel) barWidth(at [][2]float64) float64 {
	var xs []float64
	for _, v := range at {
		if !math.IsNaN(v[0]) {
			xs = append(xs, v[0])
		}
	}
	slices.Sort(xs)
	least := min(60, p.wide/3)
	if n := len(p.X.Names); p.X.Scale == Names && n > 0 {
		least = min(least, p.wide/float64(n))
	}
	for i := 1; i < len(xs); i++ {
		if d := xs[i] - xs[i-1]; d > 0 {
			least = min(least, d)
		}
	}
	return max(1, least*0.8/float64(max(1, p.bars)))
}

// intervals draws the error bars of a series.
func (p *panel) intervals(w *writer, s *Series, at [][2]float64) {
	var b strings.Builder
	for i := range s.Points {
		x, y := at[i][0], at[i][1]
		if math.IsNaN(x) {
			continue
		}
		if v := s.Points[i].YInterval; v.ok() {
			low, high := p.y.edge(v.Low), p.y.edge(v.High)
			b.WriteString("M" + px(x) + " " + px(low) + "V" + px(high))
			p.labels.cross(x, low, x, high)
			for _, end := range []struct{ value, at float64 }{{v.Low, low}, {v.High, high}} {
				if !math.IsInf(end.value, 0) {
					b.WriteString("M" + px(x-4) + " " + px(end.at) + "h8")
				}
			}
		}
		if v := s.Points[i].XInterval; v.ok() {
			low, high := p.x.edge(v.Low), p.x.edge(v.High)
			b.WriteString("M" + px(low) + " " + px(y) + "H" + px(high))
			p.labels.cross(low, y, high, y)
			for _, end := range []struct{ value, at float64 }{{v.Low, low}, {v.High, high}} {
				if !math.IsInf(end.value, 0) {
					b.WriteString("M" + px(end.at) + " " + px(y-4) + "v8")
				}
			}
		}
	}
	if b.Len() > 0 {
		w.empty("path", "", "d", b.String(), "stroke", "currentColor", "stroke-width", "1.2")
		w.line()
	}
}

// title returns the text under the pointer for a point.
func (p *panel) title(s *Series, v *Point) string {
	var lines []string
	for _, t := range []string{s.Name, v.Title} {
		if t != "" {
			lines = append(lines, clean(t))
		}
	}
	return strings.Join(append(lines, p.x.valueLine(v.X, v.XInterval), p.y.valueLine(v.Y, v.YInterval)), "\n")
}

// valueLine returns "TTFT p99: 12.83 ms (12.1 ms to 13.4 ms)".
func (r *ruler) valueLine(v float64, i Interval) string {
	s := r.value(v)
	if i.ok() {
		s += " (" + r.value(i.Low) + " to " + r.value(i.High) + ")"
	}
	if r.axis.Label == "" {
		return s
	}
	return clean(r.axis.Label) + ": " + s
}

// value returns a value of an axis with its unit.
func (r *ruler) value(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "no upper bound"
	case math.IsInf(v, -1):
		return "no lower bound"
	case math.IsNaN(v):
		return "n/a"
	case r.axis.Scale == Names && !math.IsNaN(r.axis.place(v)):
		return clean(r.axis.Names[int(v)])
	case r.axis.Scale == Tail:
		return number(v, 8)
	}
	return r.format.value(v)
}
