package dialect

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/export"
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
