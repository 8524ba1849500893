package export

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A Field is a named value. The order of fields is part of the data:
// perf_analyzer writes tensors in the order of a hash map, and a rewrite must
// not change it.
type Field struct {
	Name  string
	Value Value
}

// Fields is an ordered object. nil means absent, empty means {}.
type Fields []Field

// Get returns the value of the first field of that name.
func (f Fields) Get(name string) (Value, bool) {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return Value{}, false
}

// Joined returns the fields without envelopes: f itself if it has none, else a copy.
func (f Fields) Joined() Fields {
	for i := range f {
		if f[i].Value.Envelope != nil {
			joined := slices.Clone(f)
			for i := range joined {
				v := &joined[i].Value
				v.Data, v.Envelope = v.Bytes(), nil
			}
			return joined
		}
	}
	return f
}

// A Value is one input or output.
//
// With Text, Data is the content of a JSON string as bytes: perf_analyzer
// writes strings that are not UTF-8, and they are kept. Without Text, Data is
// the compact JSON text of a number, boolean, null, array or object; number
// text is kept as it was written.
type Value struct {
	Text bool
	Data []byte
	// Envelope, if it is not nil, surrounds Data: the text is Front, Data, Back. Data then has
	// no quote, backslash or control character, which JSON would escape. Only the requests of
	// a [Batch], and of a caller that allows it, have such values: see [Need]. Bytes joins the parts.
	Envelope *Envelope
}

// Text returns a text value of s.
func Text(s string) Value { return Value{Text: true, Data: []byte(s)} }

// JSON returns a value of the compact JSON text s.
func JSON(s string) Value { return Value{Data: []byte(s)} }

// ValueOf returns the value of the valid JSON text v in new memory.
func ValueOf(v []byte) Value {
	if v[0] == '"' {
		return Value{Text: true, Data: jsonscan.DecodeText(v)}
	}
	return Value{Data: jsonscan.AppendCompact(nil, v)}
}

// Bytes returns the text or the JSON text of v: Data itself unless v has an Envelope.
func (v Value) Bytes() []byte {
	if v.Envelope == nil {
		return v.Data
	}
	return slices.Concat(v.Envelope.Front, v.Data, v.Envelope.Back)
}

// Null reports whether v is JSON null (or the zero Value).
func (v Value) Null() bool {
	return !v.Text && (len(v.Data) == 0 || string(v.Data) == "null")
}

// Empty reports whether v holds nothing: an empty string, null or [].
// perf_analyzer writes "" for an output that a response does not hold.
func (v Value) Empty() bool {
	return v.Null() || len(v.Data) == 0 && v.Envelope == nil || !v.Text && string(v.Data) == "[]"
}

// An Envelope is the start and the end of texts that differ only between them, such as the
// events of a streamed answer. It never changes, so what is known about an Envelope holds for
// all values that point to it.
type Envelope struct{ Front, Back []byte }

// StripLengthPrefix removes the length that perf_analyzer 24.03, 24.11 and
// 24.12 leave before a string output:
//
//	len(4, little-endian) bytes…
//
// ok reports that b is nothing but strings of that layout, one after the other
// (one string, for a language model); the result then is b without the first
// length, and shares its memory. Later lengths stay, as they do in the files of
// every other release: "\x02\x00\x00\x00ab\x03\x00\x00\x00xyz" becomes
// "ab\x03\x00\x00\x00xyz".
//
// A text whose first four bytes happen to be its own remaining length is mistaken for
// one with a prefix: a control character and three NUL, or three NUL after a character
// of that code (34 bytes after a quote). Decide by all outputs of a file, not by one.
func StripLengthPrefix(b []byte) (text []byte, ok bool) {
	for rest := b; ; {
		if len(rest) < 4 {
			return b, false
		}
		n := uint64(binary.LittleEndian.Uint32(rest))
		rest = rest[4:]
		if n > uint64(len(rest)) {
			return b, false
		}
		rest = rest[n:]
		if len(rest) == 0 {
			return b[4:], true
		}
	}
}

// StreamFlag reports whether the inputs of a request ask for a streamed answer
// through a tensor named stream or STREAM, as for Triton's LLM backends. stated is
// false if there is no such tensor, or if its elements differ.
func (f Fields) StreamFlag() (stream, stated bool) {
	for i := range f {
		if strings.EqualFold(f[i].Name, "stream") {
			return f[i].Value.flag()
		}
	}
	return false, false
}

// flag returns the common value of all elements of a BOOL tensor. It may be written
// as true, [true], 1, or the raw bytes that perf_analyzer before 24.08 wrote as a
// string.
func (v Value) flag() (value, ok bool) {
	var elements [][]byte
	if v.Text {
		elements = bytes.Split(v.Data, nil)
	} else {
		elements = bytes.Split(bytes.Trim(v.Data, "[]"), []byte(","))
	}
	if s := string(v.Data); v.Text && (s == "true" || s == "false") {
		elements = [][]byte{v.Data}
	}
	for i, e := range elements {
		var is bool
		switch string(e) {
		case "true", "1", "\x01":
			is = true
		case "false", "0", "\x00":
		default:
			return false, false
		}
		if i > 0 && is != value {
			return false, false
		}
		value, ok = is, true
	}
	return value, ok
}

// Clone returns a copy of f that shares no memory with it.
func (f Fields) Clone() Fields {
	if f == nil {
		return nil
	}
	c := make(Fields, len(f))
	for i := range f {
		c[i] = f[i]
		c[i].Value.Data = bytes.Clone(f[i].Value.Data)
	}
	return c
}
