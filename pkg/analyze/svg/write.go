package svg

import (
	"io"
	"math"
	"slices"
)

// Widths and distances in pixels.
const (
	defaultWidth  = 760
	leastWidth    = 320
	defaultHeight = 240
	leastHeight   = 60
	margin        = 16
	betweenPanels = 22
)

// Write writes the picture as an SVG document. It returns the errors of w only: any figure can be
// drawn.
func (f *Figure) Write(w io.Writer) error {
	p := f.draw("pa")
	p.out.line()
	_, err := w.Write(p.document(true))
	return err
}

// WriteInline writes the picture as an element of an HTML page, without a style sheet and without
// style attributes. The page holds [Rules] and the properties of a theme. id begins the identifiers
// of the picture and must differ between the pictures of a page; letters, digits, - and _ are safe.
func (f *Figure) WriteInline(w io.Writer, id string) error {
	_, err := w.Write(f.draw(id).document(false))
	return err
}

// A picture is a figure that is being drawn.
type picture struct {
	*Figure
	id     string
	width  float64
	height float64 // so far
	panels []*panel
	out    writer // the content
}

// draw draws the figure.
func (f *Figure) draw(id string) *picture {
	p := &picture{Figure: f, id: id, width: defaultWidth, height: margin}
	if f.Width != 0 {
		p.width = float64(max(leastWidth, f.Width))
	}
	p.layPanels()
	p.heading()
	p.legend()
	p.height += 8
	p.drawPanels()
	p.notes()
	p.height += margin - 4
	return p
}

// document returns the whole picture.
func (p *picture) document(alone bool) []byte {
	var w writer
	size := []string{"viewBox", "0 0 " + px(p.width) + " " + px(math.Ceil(p.height)), "width", px(p.width), "height", px(math.Ceil(p.height))}
	title, desc := p.id+"-title", p.id+"-desc"
	attributes := []string{"xmlns", "http://www.w3.org/2000/svg", "class", "pa-figure", "role", "img", "aria-labelledby", title + " " + desc}
	w.begin("svg", append(append(attributes, size...), "font-family", fonts, "font-size", px(textSize), "fill", "none")...)
	w.element("title", clean(p.Title), "id", title)
	w.element("desc", p.describe(), "id", desc)
	w.line()
	if alone {
		w.element("style", stylesheet())
		w.line()
	}
	w.empty("rect", "", append(background.class(), "width", "100%", "height", "100%", "fill", "currentColor")...)
	w.line()
	_, _ = w.Write(p.out.Bytes()) // to memory
	w.end()
	if alone {
		w.line()
	}
	return w.Bytes()
}

// heading writes title and subtitle.
func (p *picture) heading() {
	inner := p.width - 2*margin
	if p.Title != "" {
		p.lines(wrap(clean(p.Title), titleSize*1.08, inner, 2), titleSize, text, "font-weight", "600")
	}
	if p.Subtitle != "" {
		p.height += 2
		p.lines(wrap(cleanLong(p.Subtitle), textSize, inner, 6), textSize, quiet)
	}
}

// notes writes the notes of the figure and of its panels.
func (p *picture) notes() {
	for _, n := range p.allNotes() {
		p.height += 2
		p.lines(wrap(cleanLong(n), tickSize, p.width-2*margin, 6), tickSize, quiet)
	}
}

// lines writes lines of text, one below the other.
func (p *picture) lines(lines []string, size float64, r role, attributes ...string) {
	for _, s := range lines {
		p.height += size * lineHeight
		all := append(append([]string{"x", px(margin), "y", px(p.height - size*0.3), "font-size", px(size)}, r.class()...), "fill", "currentColor")
		p.out.element("text", s, append(all, attributes...)...)
		p.out.line()
	}
}

// mostEntries bounds the legend.
const mostEntries = 32

// legend writes the legend: a sample and a name for each series that has a name.
func (p *picture) legend() {
	type entry struct {
		name  string
		style int
	}
	var all []*Series
	seen := map[entry]bool{}
	for i := range p.Panels {
		for j := range p.Panels[i].Series {
			s := &p.Panels[i].Series[j]
			if e := (entry{s.Name, s.Style}); s.Name != "" && !seen[e] {
				seen[e] = true
				all = append(all, s)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	const sample, gap, row = 30.0, 18.0, 19.0
	p.height += 6
	left, inner := 0.0, p.width-2*margin
	put := func(wide float64) (x, y float64) {
		if left > 0 && left+wide > inner {
			left, p.height = 0, p.height+row
		}
		x, y = margin+left, p.height+row/2
		left += wide + gap
		return x, y
	}
	for i, s := range all {
		if i == mostEntries {
			p.name(put, "and "+number(float64(len(all)-i), 6)+" more", "", 0)
			break
		}
		full := clean(s.Name)
		name := fit(full, textSize, inner-sample-6)
		x, y := p.name(put, name, full, sample+6)
		look := lookOf(s.Style)
		p.out.begin("g", look.color.class()...)
		if s.Shape != Points && s.Shape != Bars {
			p.out.empty("path", "", "d", "M"+px(x)+" "+px(y)+"h"+px(sample), "stroke", "currentColor", "stroke-width", "2", "stroke-dasharray", look.dash)
		}
		switch s.Shape {
		case Points:
			p.out.marker(look.marker, x+sample/2, y, 3.8, true, "")
		case LinePoints, Lines, Steps:
			if s.Shape != LinePoints && !slices.ContainsFunc(s.Points, func(v Point) bool { return v.Title != "" }) {
				break
			}
			p.out.marker(look.marker, x+sample/2, y, 3.8, false, "")
		case Bars:
			p.out.empty("rect", "", barLook(look, x+6, y-6, sample-12, 12)...)
			p.out.marker(look.marker, x+sample/2, y, 3, false, "")
		}
		p.out.end()
		p.out.line()
	}
	p.height += row
}

// name writes a name of the legend, after room for a sample of the given width, and returns the place
// of that room.
func (p *picture) name(put func(float64) (x, y float64), name, full string, sample float64) (x, y float64) {
	x, y = put(sample + width(name, textSize))
	if full == name {
		full = ""
	}
	p.out.begin("text", append(text.class(), "x", px(x+sample), "y", px(y+4), "fill", "currentColor")...)
	if full != "" {
		p.out.element("title", full)
	}
	p.out.text(name)
	p.out.end()
	return x, y
}
