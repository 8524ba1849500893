package svg

import (
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
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
	if !p.hasData {
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
	var between sleeve
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
		case between.skips(at, i):
			continue
		default:
			b.WriteString("L" + px(v[0]) + " " + px(v[1]))
		}
		joined, last = true, v
		between = sleeve{from: v, low: math.Inf(-1), high: math.Inf(1)}
	}
	return b.String()
}

// A sleeve holds the slopes of the lines from a drawn point that pass all points skipped since by at most nearLine. The curve of a distribution has hundreds of points, most of them on a line with their neighbors.
type sleeve struct {
	from      [2]float64
	low, high float64
}

// nearLine is the distance in pixels that nobody sees.
const nearLine = 0.1

// skips reports whether the line from s.from to the point after i passes point i and all skipped ones, and then narrows
// the slopes. The x of points grow; the last point of a line is never skipped.
func (s *sleeve) skips(at [][2]float64, i int) bool {
	if i+1 == len(at) || math.IsNaN(at[i+1][0]) {
		return false
	}
	dx, next := at[i][0]-s.from[0], at[i+1][0]-s.from[0]
	if dx <= 0 || next <= dx {
		return false
	}
	s.low = max(s.low, (at[i][1]-nearLine-s.from[1])/dx)
	s.high = min(s.high, (at[i][1]+nearLine-s.from[1])/dx)
	slope := (at[i+1][1] - s.from[1]) / next
	return s.low <= slope && slope <= s.high
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
			v.eachEnd(low, high, func(at float64) { b.WriteString("M" + px(x-4) + " " + px(at) + "h8") })
		}
		if v := s.Points[i].XInterval; v.ok() {
			low, high := p.x.edge(v.Low), p.x.edge(v.High)
			b.WriteString("M" + px(low) + " " + px(y) + "H" + px(high))
			p.labels.cross(low, y, high, y)
			v.eachEnd(low, high, func(at float64) { b.WriteString("M" + px(at) + " " + px(y-4) + "v8") })
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
	return r.labeled(s)
}

// labeled returns a text after the name of the axis.
func (r *ruler) labeled(s string) string {
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

// markers is the number of marker shapes.
const markers = 8

// marker draws marker n at a place, about 2*r wide. An open marker has an outline only, so that
// a marker below it stays visible.
func (w *writer) marker(n int, x, y, r float64, open bool, title string) {
	attributes := []string{"fill", "currentColor", "class", "pa-halo", "stroke", palette[background].light, "stroke-width", "1"}
	if open {
		attributes = []string{"stroke", "currentColor", "stroke-width", "1.4"}
	}
	if n == 0 {
		w.empty("circle", title, append([]string{"cx", px(x), "cy", px(y), "r", px(r)}, attributes...)...)
		return
	}
	w.empty("path", title, append([]string{"d", outline(n, x, y, r)}, attributes...)...)
}

// outline returns the path of marker n, 1 or more.
func outline(n int, x, y, r float64) string {
	var at [][2]float64
	switch n {
	case 1: // square
		a := r * 0.9
		at = [][2]float64{{-a, -a}, {a, -a}, {a, a}, {-a, a}}
	case 2: // triangle
		at = [][2]float64{{0, -1.25 * r}, {1.15 * r, 0.8 * r}, {-1.15 * r, 0.8 * r}}
	case 3: // diamond
		at = [][2]float64{{0, -1.35 * r}, {1.35 * r, 0}, {0, 1.35 * r}, {-1.35 * r, 0}}
	case 4: // triangle that points down
		at = [][2]float64{{0, 1.25 * r}, {-1.15 * r, -0.8 * r}, {1.15 * r, -0.8 * r}}
	case 5: // cross
		at = cross(r*1.25, r*0.45, 0)
	case 6: // star of five rays
		for i := range 10 {
			a, d := float64(i)*math.Pi/5, 1.45*r
			if i%2 == 1 {
				d = 0.62 * r
			}
			at = append(at, [2]float64{d * math.Sin(a), -d * math.Cos(a)})
		}
	default: // oblique cross
		at = cross(r*1.35, r*0.45, math.Pi/4)
	}
	var b strings.Builder
	for i, p := range at {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + px(x+p[0]) + " " + px(y+p[1]))
	}
	return b.String() + "Z"
}

// cross returns the corners of a cross with arms of a length and half a width, turned by an angle.
func cross(long, half, angle float64) (at [][2]float64) {
	sin, cos := math.Sincos(angle)
	for _, p := range [][2]float64{
		{-half, -long},
		{half, -long},
		{half, -half},
		{long, -half},
		{long, half},
		{half, half},
		{half, long},
		{-half, long},
		{-half, half},
		{-long, half},
		{-long, -half},
		{-half, -half},
	} {
		at = append(at, [2]float64{float64(p[0]*cos) - float64(p[1]*sin), float64(p[0]*sin) + float64(p[1]*cos)})
	}
	return at
}

// barLook returns the attributes of a bar.
func barLook(l look, x, y, wide, high float64) []string {
	return []string{
		"x", px(x), "y", px(y), "width", px(wide), "height", px(high), "fill", "currentColor", "fill-opacity", "0.3",
		"stroke", "currentColor", "stroke-width", "1.4", "stroke-dasharray", l.dash,
	}
}

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

// A heatStep is a range of counts that share a color.
type heatStep struct {
	role     role
	from, to uint64
}

// heatKey returns the colors for counts from 1 to most, with equal ratios between them.
func heatKey(most uint64) (key []heatStep) {
	from := uint64(1)
	for i := range heatSteps {
		to := most
		if i < heatSteps-1 {
			to = uint64(math.Ceil(math.Pow(float64(most), float64(i+1)/heatSteps)))
			if most <= heatSteps {
				to = uint64(i + 1)
			}
		}
		to = min(to, most)
		if to < from {
			continue
		}
		key = append(key, heatStep{firstHeat + role(i), from, to})
		if from = to + 1; to == most {
			break
		}
	}
	return key
}

// name returns the counts of a step: "5" or "5–8".
func (s heatStep) name() string {
	if s.from == s.to {
		return plural.Grouped(s.from)
	}
	return plural.Grouped(s.from) + "–" + plural.Grouped(s.to)
}

// drawKey draws which color stands for which count, in one line from x, y.
func (p *panel) drawKey(w *writer, x, y float64) {
	end := p.wide
	quantity := fit(clean(p.Cells.Of)+"s:", tickSize, (p.wide+p.left)/3)
	w.element("text", quantity, append(quiet.class(), "x", px(x), "y", px(y+10), "font-size", px(tickSize), "fill", "currentColor")...)
	x += width(quantity, tickSize) + 6
	total := 0.0
	for _, s := range p.key {
		total += 12 + 4 + width(s.name(), tickSize) + 8
	}
	short := x+total > end
	for i, s := range p.key {
		name := s.name()
		switch {
		case !short:
		case i == 0 || i == len(p.key)-1: // the ends must do
			name = plural.Grouped(map[bool]uint64{true: s.from, false: s.to}[i == 0])
		default:
			name = ""
		}
		w.empty("rect", s.name(), append(s.role.class(), "x", px(x), "y", px(y), "width", "12", "height", "12", "fill", "currentColor")...)
		x += 12
		if name != "" {
			w.element("text", name, append(quiet.class(), "x", px(x+4), "y", px(y+10), "font-size", px(tickSize), "fill", "currentColor")...)
			x += 4 + width(name, tickSize) + 8
		}
	}
	w.line()
}

// cells draws the cells of a heat map, grouped by color.
func (p *panel) cells(w *writer) {
	c := p.Cells
	for _, s := range p.key {
		begun := false
		for i := range len(c.X) - 1 {
			for j := range len(c.Y) - 1 {
				n := c.at(i, j)
				if n < s.from || n > s.to {
					continue
				}
				x0, x1 := p.x.edge(c.X[i]), p.x.edge(c.X[i+1])
				y0, y1 := p.y.edge(c.Y[j]), p.y.edge(c.Y[j+1])
				if math.IsNaN(x0 + x1 + y0 + y1) {
					continue
				}
				if !begun {
					w.begin("g", append(s.role.class(), "fill", "currentColor", "shape-rendering", "crispEdges")...)
					w.line()
					begun = true
				}
				title := strings.Join([]string{p.x.cellLine(c.X[i], c.X[i+1]), p.y.cellLine(c.Y[j], c.Y[j+1]), plural.GroupedOf(n, clean(c.Of))}, "\n")
				w.empty("rect", title, "x", px(x0), "y", px(min(y0, y1)), "width", px(x1-x0), "height", px(math.Abs(y1-y0)))
				w.line()
			}
		}
		if begun {
			w.end()
			w.line()
		}
	}
}

// cellLine returns "ITL: 1 ms to 2 ms".
func (r *ruler) cellLine(from, to float64) string {
	return r.labeled(r.value(from) + " to " + r.value(to))
}
