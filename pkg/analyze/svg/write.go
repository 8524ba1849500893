package svg

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
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

// A writer writes elements of XML.
type writer struct {
	bytes.Buffer
	open []string
}

// escaper replaces the characters that have a meaning in XML.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// tag writes the start of an element up to its attributes: pairs of a name and a value.
func (w *writer) tag(name string, attributes []string) {
	w.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			w.WriteString(" " + attributes[i] + `="`)
			_, _ = escaper.WriteString(w, attributes[i+1]) // to memory
			w.WriteString(`"`)
		}
	}
}

// begin opens an element. An attribute with an empty value is left out.
func (w *writer) begin(name string, attributes ...string) {
	w.tag(name, attributes)
	w.WriteString(">")
	w.open = append(w.open, name)
}

// end closes the element that was opened last.
func (w *writer) end() {
	w.WriteString("</" + w.open[len(w.open)-1] + ">")
	w.open = w.open[:len(w.open)-1]
}

// line ends a line of the file, to make it readable.
func (w *writer) line() { w.WriteString("\n") }

// empty writes an element without content; with title it shows that text under the pointer.
func (w *writer) empty(name, title string, attributes ...string) {
	w.tag(name, attributes)
	if title == "" {
		w.WriteString("/>")
		return
	}
	w.WriteString("><title>")
	w.text(title)
	w.WriteString("</title></" + name + ">")
}

// element writes an element that holds a text.
func (w *writer) element(name, content string, attributes ...string) {
	w.tag(name, attributes)
	w.WriteString(">")
	w.text(content)
	w.WriteString("</" + name + ">")
}

// text writes a text.
func (w *writer) text(s string) { _, _ = escaper.WriteString(w, s) }

// px formats a length in pixels with at most two decimals, the same on every machine.
func px(v float64) string {
	r := math.Round(v*100) / 100
	if r == 0 {
		r = 0 // without a sign
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// Sizes of text in pixels.
const (
	titleSize  = 16
	headSize   = 13
	textSize   = 12
	tickSize   = 11
	lineHeight = 1.35 // of a line of text, in sizes
)

// fonts is the font family. The widths below fit the widest of them.
const fonts = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans','Liberation Sans',Arial,sans-serif"

// width returns the width of a text at a size, estimated from above: the reader's font is not known.
// The classes of width come from DejaVu Sans, which is wide.
func width(s string, size float64) float64 {
	sum := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijl|!.,:;'I[]()/ ft", r):
			sum += 0.39
		case strings.ContainsRune("mwMW%@—…", r):
			sum += 0.97
		case r < utf8.RuneSelf && unicode.IsUpper(r):
			sum += 0.73
		case r < 0x1100:
			sum += 0.63
		default: // letters of East Asia, emoji
			sum += 1.1
		}
	}
	return sum * size
}

// fit returns s in one line of at most the given pixels, with an ellipsis if it is cut.
func fit(s string, size, pixels float64) string {
	if width(s, size) <= pixels {
		return s
	}
	pixels -= width("…", size)
	for i, r := range s {
		if pixels -= width(string(r), size); pixels < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap returns s in at most most lines of at most the given pixels. It breaks at spaces, and within a
// word that is longer than a line. The last line ends in an ellipsis if there is more.
func wrap(s string, size, pixels float64, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case width(line+" "+word, size) <= pixels:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
		for len(lines) < most && width(line, size) > pixels {
			part := strings.TrimSuffix(fit(line, size, pixels+width("…", size)), "…")
			if part == "" {
				_, n := utf8.DecodeRuneInString(line)
				part = line[:n]
			}
			lines, line = append(lines, part), line[len(part):]
		}
		if len(lines) >= most {
			break
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > most {
		last := lines[most-1] + "…"
		lines = append(lines[:most-1], fit(last, size, pixels))
	}
	return lines
}

// mostText bounds a text from outside, in bytes.
const mostText = 400

// clean makes a text from outside safe to show: a bounded line without control characters and without
// characters that reverse text.
func clean(s string) string { return sanitize.Text(sanitize.Clip(s, mostText)) }

// mostSentence bounds a text of several sentences, in bytes.
const mostSentence = 4000

// cleanLong is clean for text of several sentences.
func cleanLong(s string) string { return sanitize.Text(sanitize.Clip(s, mostSentence)) }

// mostDescribed bounds the series of a panel that a description names.
const mostDescribed = 16

// describe returns the description for screen readers: Desc, and for each panel its axes and the range
// of each series.
func (p *picture) describe() string {
	var parts []string
	for _, s := range []string{p.Subtitle, p.Desc} {
		if s != "" {
			parts = append(parts, cleanLong(s))
		}
	}
	for _, one := range p.panels {
		parts = append(parts, one.describe())
	}
	for _, n := range p.allNotes() {
		parts = append(parts, cleanLong(n))
	}
	for i, s := range parts {
		if !strings.HasSuffix(s, ".") {
			parts[i] = s + "."
		}
	}
	return strings.Join(parts, " ")
}

// allNotes returns the notes of the figure and of its panels.
func (p *picture) allNotes() []string {
	all := append([]string(nil), p.Notes...)
	for _, one := range p.panels {
		if one.absent > 0 {
			note := plural.Of(one.absent, "point") + " at 0 or below cannot be drawn on a logarithmic axis."
			if name := one.name(); name != "" && len(p.panels) > 1 {
				note = name + ": " + note
			}
			all = append(all, note)
		}
	}
	return all
}

// name returns what the panel shows.
func (p *panel) name() string {
	if p.Title != "" {
		return clean(p.Title)
	}
	return clean(p.Y.Label)
}

// nothing returns the text of a panel without data.
func (p *panel) nothing() string {
	if p.NoData == "" {
		return "no data"
	}
	return "no data (" + clean(p.NoData) + ")"
}

// describe returns the sentences about a panel.
func (p *panel) describe() string {
	var b strings.Builder
	if name := p.name(); name != "" {
		b.WriteString(name + ": ")
	}
	if p.Aside != "" {
		b.WriteString(clean(p.Aside) + "; ")
	}
	if !p.hasData {
		b.WriteString(p.nothing())
		return b.String()
	}
	b.WriteString(p.x.describe("x") + "; " + p.y.describe("y"))
	if p.key != nil {
		b.WriteString("; up to " + strings.TrimSpace(plural.Grouped(p.Cells.most())+" "+clean(p.Cells.Of)) + " in a cell")
	}
	for i := range p.Series {
		if i == mostDescribed {
			b.WriteString("; and " + plural.Grouped(len(p.Series)-i) + " more series")
			break
		}
		s := &p.Series[i]
		var ys []float64
		for _, v := range s.Points {
			if !math.IsNaN(p.X.place(v.X)) {
				ys = append(ys, v.Y)
			}
		}
		b.WriteString("; ")
		if s.Name != "" {
			b.WriteString(clean(s.Name) + ": ")
		}
		all, ok := spanOf(&p.Y, ys)
		switch {
		case !ok:
			b.WriteString("no data")
		case all.low == all.high:
			b.WriteString(plural.Of(len(ys), "point") + " at " + p.y.value(all.low))
		default:
			b.WriteString(plural.Of(len(ys), "point") + " from " + p.y.value(all.low) + " to " + p.y.value(all.high))
		}
	}
	for _, l := range p.Lines {
		if l.Label != "" {
			b.WriteString("; line: " + clean(l.Label))
		}
	}
	return b.String()
}

// describe returns "x: concurrency from 1 to 64".
func (r *ruler) describe(name string) string {
	a := r.axis
	s := name
	if a.Label != "" {
		s += ": " + clean(a.Label)
	}
	if a.Scale == Names {
		return s + ", " + plural.Of(len(a.Names), "place")
	}
	return s + " from " + r.value(r.covers.low) + " to " + r.value(r.covers.high)
}
