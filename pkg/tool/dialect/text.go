package dialect

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// An Output holds the values that one response, or several successive responses, have in the
// output of a name. Several have the same [export.Envelope], and texts in it.
type Output struct {
	Responses []export.Response
	Index     int // of Responses[0] in the request
	// Value is the value of the first response; nil if it lacks the output.
	Value *export.Value
	// Text is the value as a Python program sees it, without bytes that are no UTF-8, and Raw
	// has all bytes; both are "" with an Envelope.
	Text, Raw string
	// Valid says that all texts in the Envelope are UTF-8.
	Valid bool
}

// InEnvelope reports whether the values have an [export.Envelope] and texts in it.
func (o *Output) InEnvelope() bool {
	return o.Value != nil && o.Value.Envelope != nil && len(o.Value.Data) > 0
}

// An Outputs gives the outputs of requests in the form of [Output]. Tools that read the requests in
// lockstep share one, and each string is made once. The zero value is ready.
type Outputs struct {
	source *turnReader // nil: not shared

	mu     sync.Mutex
	turn   int // of all
	name   string
	joined strings.Builder
	all    []Output
}

// Of returns the outputs of that name. The slice is valid until the next request. A string stays
// valid, and keeps the strings of the whole request in memory.
func (o *Outputs) Of(q *export.Request, name string) []Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.source == nil:
	case o.turn != o.source.turn:
		o.turn, o.name = o.source.turn, name
	case o.name == name:
		return o.all
	default: // other tools may still read the outputs of another name
		return new(Outputs).Of(q, name)
	}
	o.all = o.all[:0]
	size := 0
	for i := range q.Responses {
		v := ValueOf(&q.Responses[i], name)
		one := Output{Responses: q.Responses[i : i+1], Index: i, Value: v}
		if n := len(o.all); n > 0 && one.InEnvelope() && o.all[n-1].InEnvelope() && o.all[n-1].Value.Envelope == v.Envelope {
			last := &o.all[n-1]
			last.Responses = q.Responses[last.Index : i+1]
			last.Valid = last.Valid && utf8.Valid(v.Data)
			continue
		}
		switch {
		case v == nil:
		case v.Envelope != nil:
			one.Valid = utf8.Valid(v.Data)
		default:
			size += len(v.Data)
		}
		o.all = append(o.all, one)
	}
	o.joined.Reset()
	o.joined.Grow(size)
	for i := range o.all {
		if v := o.all[i].Value; v != nil && v.Envelope == nil {
			o.joined.Write(v.Data)
		}
	}
	rest := o.joined.String()
	valid := utf8.ValidString(rest)
	for i := range o.all {
		one := &o.all[i]
		if one.Value == nil || one.Value.Envelope != nil {
			continue
		}
		n := len(one.Value.Data)
		one.Raw, rest = rest[:n], rest[n:]
		if one.Text = one.Raw; !valid {
			one.Text = strings.ToValidUTF8(one.Raw, "")
		}
	}
	return o.all
}

// ValueOf returns the output of that name; nil for a response without it.
func ValueOf(p *export.Response, name string) *export.Value {
	for i := range p.Outputs {
		if f := &p.Outputs[i]; f.Name == name {
			return &f.Value
		}
	}
	return nil
}

// Joined returns the text of a value with an envelope, without bytes that are no UTF-8.
func Joined(v *export.Value) string {
	return Valid(v.Envelope.Front) + Valid(v.Data) + Valid(v.Envelope.Back)
}

// Valid returns text without bytes that are no UTF-8.
func Valid(text []byte) string { return strings.ToValidUTF8(string(text), "") }

// Texts extracts the texts of answers. It reuses its buffers, so it is for one goroutine;
// the zero value is ready.
type Texts struct {
	chunk             openai.Chunk
	answers, thoughts strings.Builder
}

// Of returns the joined text of an answer and of its reasoning; ok is false if the file
// has no outputs.
func (t *Texts) Of(q *export.Request) (answer, reasoning string, ok bool) {
	t.answers.Reset()
	t.thoughts.Reset()
	var split sse.Splitter
	for i := range q.Responses {
		out := q.Responses[i].Outputs
		if v, there := out.Get("text_output"); there && v.Text {
			t.answers.Write(v.Data)
			ok = true
		}
		v, there := out.Get("response")
		if !there {
			continue
		}
		ok = true
		if i == 0 && bytes.HasPrefix(bytes.TrimLeft(v.Data, " \r\n"), []byte("{")) {
			if openai.Parse(v.Data, &t.chunk) == nil {
				t.take()
			}
			break
		}
		split.Feed(v.Data)
		t.events(&split)
	}
	split.Feed([]byte("\n\n")) // the stream may end inside an event; count it
	t.events(&split)
	return t.answers.String(), t.thoughts.String(), ok
}

// events adds the texts of the events that are complete.
func (t *Texts) events(split *sse.Splitter) {
	for split.Next() {
		if openai.ParseFrame(split.Frame(), &t.chunk) == nil {
			t.take()
		}
	}
}

// take adds the texts of the chunk.
func (t *Texts) take() {
	for i := range t.chunk.Choices {
		t.answers.Write(t.chunk.Choices[i].Content)
		t.thoughts.Write(t.chunk.Choices[i].Reasoning)
	}
}
