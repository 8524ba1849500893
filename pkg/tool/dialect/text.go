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

// An Outputs gives the outputs of requests as strings, which a Python program would see. Tools
// that read the requests in lockstep share one, and each string is made once. The zero
// value is ready.
type Outputs struct {
	source *turnReader // nil: not shared

	mu     sync.Mutex
	turn   int // of texts
	name   string
	found  [][]byte
	joined strings.Builder
	texts  []string
}

// Of returns the output of that name of each response, without bytes that are no UTF-8; ""
// for a response that lacks it, or whose value has an envelope: see Joined. The slice is valid
// until the next request. A string stays valid, and keeps the strings of the whole request in memory.
func (o *Outputs) Of(q *export.Request, name string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.source == nil:
	case o.turn != o.source.turn:
		o.turn, o.name = o.source.turn, name
	case o.name == name:
		return o.texts
	default: // other tools may still read the texts of another name
		return new(Outputs).Of(q, name)
	}
	o.found = o.found[:0]
	size := 0
	for i := range q.Responses {
		v, _ := q.Responses[i].Outputs.Get(name)
		if v.Envelope != nil {
			v.Data = nil
		}
		o.found = append(o.found, v.Data)
		size += len(v.Data)
	}
	o.joined.Reset()
	o.joined.Grow(size)
	for _, text := range o.found {
		o.joined.Write(text)
	}
	all := o.joined.String()
	valid := utf8.ValidString(all)
	o.texts = o.texts[:0]
	for _, found := range o.found {
		text := all[:len(found)]
		all = all[len(found):]
		if !valid {
			text = strings.ToValidUTF8(text, "")
		}
		o.texts = append(o.texts, text)
	}
	return o.texts
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
