package dialect

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
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

// A Parts gives parts of requests in the form in which a Python program sees them. Tools that read
// the requests in lockstep share one, and each part is made once. The zero value makes a part each time. Its
// methods may be called from one goroutine at a time.
type Parts struct {
	source *turnReader // nil in the zero value

	turn   int    // of all that follows
	name   string // of the outputs; "" for none
	joined strings.Builder
	all    []Output
	body   payload
	parsed [2]parsedJSON // the body by each library
}

// A payload is the body of a request.
type payload struct {
	known bool
	text  string // without bytes that are no UTF-8
	ok    bool   // the request has a body
}

// A parsedJSON is the result of py.ParseJSON.
type parsedJSON struct {
	known bool
	value py.Value
	err   error
}

// begin forgets the parts of an earlier request.
func (o *Parts) begin() {
	if o.source != nil && o.turn == o.source.turn {
		return
	}
	if o.source != nil {
		o.turn = o.source.turn
	}
	o.name, o.body, o.parsed = "", payload{}, [2]parsedJSON{}
}

// payload returns the body of q.
func (o *Parts) payload(q *export.Request) *payload {
	if o.begin(); !o.body.known {
		v, ok := q.Inputs.Get("payload")
		o.body = payload{known: true, text: Valid(v.Bytes()), ok: ok}
	}
	return &o.body
}

// Payload returns the body of a request, without bytes that are no UTF-8; ok is false if it has none.
func (o *Parts) Payload(q *export.Request) (text string, ok bool) {
	p := o.payload(q)
	return p.text, p.ok
}

// ParsePayload returns what py.ParseJSON returns for the text of Payload.
func (o *Parts) ParsePayload(q *export.Request, l py.Library) (py.Value, error) {
	text := o.payload(q).text
	p := &o.parsed[0]
	if l == py.ORJSON {
		p = &o.parsed[1]
	}
	if !p.known {
		p.known = true
		p.value, p.err = py.ParseJSON(text, l)
	}
	return p.value, p.err
}

// JSONPayload returns what the function Payload returns, and parses the body once for all tools.
func (o *Parts) JSONPayload(q *export.Request) py.Value {
	text, _ := o.Payload(q)
	if v, _ := q.Inputs.Get("payload"); len(v.Data) != len(text) {
		return Payload(q)
	}
	v, _ := o.ParsePayload(q, py.JSON)
	return v
}

// Outputs returns the outputs of that name. The slice is valid until the next request. A string stays
// valid, and keeps the strings of the whole request in memory.
func (o *Parts) Outputs(q *export.Request, name string) []Output {
	switch o.begin(); o.name {
	case name:
		return o.all
	case "":
		o.name = name
	default: // other tools may still read the outputs of another name
		return new(Parts).Outputs(q, name)
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

// An Envelopes remembers whether a tool finds the texts in the latest envelopes. The tool must not read what
// a py.EventKey leaves out. The zero value is ready.
type Envelopes struct {
	known [mostEnvelopes]struct {
		envelope *export.Envelope
		front    py.EventKey
		back     string
		holds    bool
	}
	next int // index to use for another one
}

// mostEnvelopes is the number of envelopes that are remembered: at least one for each goroutine
// that reads the file on most machines.
const mostEnvelopes = 16

// probe is a text that no event holds by chance.
const probe = "7Kq0-a text that nobody wrote-x2Vd"

// Hold reports whether the tool finds the text of every value with the envelope of v, which has one
// and a text in it. found reports that for raw, the whole of a value with a text in that envelope.
func (e *Envelopes) Hold(v *export.Value, found func(raw, text string) bool) bool {
	for i := range e.known {
		if e.known[i].envelope == v.Envelope {
			return e.known[i].holds
		}
	}
	front, back := py.EventKeyOf(string(v.Envelope.Front)), string(v.Envelope.Back)
	for i := range e.known {
		if one := &e.known[i]; one.envelope != nil && one.front == front && one.back == back {
			one.envelope = v.Envelope
			return one.holds
		}
	}
	holds := true
	for _, text := range [...]string{Valid(v.Data), probe} {
		holds = holds && found(Joined(&export.Value{Data: []byte(text), Envelope: v.Envelope}), text)
	}
	one := &e.known[e.next]
	e.next = (e.next + 1) % mostEnvelopes
	one.envelope, one.front, one.back, one.holds = v.Envelope, front, back, holds
	return holds
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
	// Calls says that a call of a tool is text of the answer, in place of the content of its event: the name, but not of a stream of
	// Anthropic Messages, and the arguments.
	Calls bool

	chunk             openai.Chunk
	answers, thoughts strings.Builder
	data              []byte // of a value with an envelope
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
			t.answers.Write(v.Bytes())
			ok = true
		}
		v, there := out.Get("response")
		if !there {
			continue
		}
		ok = true
		data := v.Data
		if e := v.Envelope; e != nil {
			t.data = append(append(append(t.data[:0], e.Front...), v.Data...), e.Back...)
			data = t.data
		}
		if i == 0 && bytes.HasPrefix(bytes.TrimLeft(data, " \r\n"), []byte("{")) {
			if openai.Parse(data, &t.chunk) == nil {
				t.take()
			}
			break
		}
		split.Feed(data)
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
	if t.Calls && t.chunk.Messages == openai.BlockStart {
		return
	}
	for i := range t.chunk.Choices {
		c := &t.chunk.Choices[i]
		if t.Calls && len(c.ToolCalls) > 0 && len(c.Reasoning) == 0 {
			t.answers.Write(c.ToolCalls)
			continue
		}
		t.answers.Write(c.Content)
		t.thoughts.Write(c.Reasoning)
	}
}
