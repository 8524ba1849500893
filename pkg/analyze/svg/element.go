package svg

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

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
