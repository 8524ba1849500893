package profilejson

import (
	"bytes"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// An outputEnvelope recognizes outputs with one text, such as {"response":"data: …\n\n"}, that
// differ only within the text. Such an output is compared with the parts that all have in
// common; its text is not decoded. See jsonscan.Envelope, which makes sure that nothing is
// escaped between these parts.
type outputEnvelope struct {
	front, back []byte           // of the object as written; empty without an envelope
	name        string           // of the output
	envelope    *export.Envelope // of the text
	text        jsonscan.Envelope
}

// open returns the value of the output at b[i] and where the output ends. ok is false if the
// output is not in the envelope.
func (o *outputEnvelope) open(b []byte, i int) (v export.Value, end int, ok bool) {
	if len(o.front) == 0 || !bytes.HasPrefix(b[i:], o.front) {
		return v, i, false
	}
	from := i + len(o.front)
	to := jsonscan.IndexSpecial(b, from)
	if !bytes.HasPrefix(b[to:], o.back) {
		return v, i, false
	}
	o.text.Used()
	return export.Value{Text: true, Data: b[from:to:to], Envelope: o.envelope}, to + len(o.back), true
}

// learn looks at an output that was decoded: object is its JSON, and f its fields.
func (o *outputEnvelope) learn(object []byte, f export.Fields) {
	if len(f) != 1 || !f[0].Value.Text {
		return
	}
	// {"name" : "text" }
	name, err := jsonscan.String(object, jsonscan.SkipSpace(object, 1))
	if err != nil {
		return
	}
	colon := jsonscan.SkipSpace(object, name)
	from := jsonscan.SkipSpace(object, colon+1) + 1
	to, err := jsonscan.String(object, from-1)
	if err != nil || !o.text.Learn(object[from:to]) {
		return
	}
	t := &o.text
	o.name = f[0].Name
	o.front = append(append(o.front[:0], object[:from]...), t.Front...)
	o.back = append(append(o.back[:0], t.Back...), object[to:]...)
	o.envelope = &export.Envelope{Front: slices.Clone(t.FrontContent), Back: slices.Clone(t.BackContent)}
}
