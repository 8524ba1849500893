package jsonscan

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Walker reads one JSON text that is in memory, from its start to its end, and
// checks it on the way. It accepts what encoding/json.Valid accepts, except values
// that nest deeper than 512 levels. It decodes no more than its caller asks for, because
// a recorded run holds millions of events and few of their bytes matter.
//
// The first error sticks in Err: from then on every method returns a zero value,
// and loops end.
//
//	w := jsonscan.Walker{Text: text}
//	for ok := w.OpenObject(); ok; ok = w.NextMember() {
//		switch string(w.Key) {
//		case "id":
//			id = w.String()
//		default:
//			w.Skip()
//		}
//	}
//	w.End()
//	return w.Err
type Walker struct {
	Text   []byte
	Pos    int    // Text[:Pos] has been read
	Key    []byte // name of the present member, unescaped
	RawKey []byte // the same, as written
	Err    error
	// Words makes Skip accept any bare word as a value, such as NaN or -Inf.
	Words bool
	// PythonNumbers makes Skip accept NaN, Infinity and -Infinity, which Python's json writes.
	PythonNumbers bool

	buf   []byte // unescaped strings; grows, so slices of it stay good
	depth int
}

// Reset makes w ready for another text. It keeps the buffer of unescaped strings,
// so that slices that earlier calls returned become invalid.
func (w *Walker) Reset(text []byte) {
	*w = Walker{Text: text, buf: w.buf[:0]}
}

// Peek skips white space and returns the first byte of the next token; 0 at the
// end and after an error.
func (w *Walker) Peek() byte {
	if w.Err != nil {
		return 0
	}
	for w.Pos < len(w.Text) {
		switch c := w.Text[w.Pos]; c {
		case ' ', '\t', '\r', '\n':
			w.Pos++
		default:
			return c
		}
	}
	return 0
}

// OpenObject enters the object that comes next and reads its first name. It
// returns false when the object is empty.
func (w *Walker) OpenObject() bool {
	if !w.open('{', "an object") {
		return false
	}
	if w.Peek() == '}' {
		w.close()
		return false
	}
	return w.member()
}

// TryObject is OpenObject that skips any other value and returns false for it.
func (w *Walker) TryObject() bool {
	if w.Peek() != '{' {
		w.Skip()
		return false
	}
	return w.OpenObject()
}

// NextMember reads the next name of an object. It returns false, and leaves the
// object, when there is none.
func (w *Walker) NextMember() bool {
	switch w.Peek() {
	case ',':
		w.Pos++
		return w.member()
	case '}':
		w.close()
	default:
		w.Expected("a comma or }")
	}
	return false
}

// OpenArray enters the array that comes next. It returns false when the array is
// empty.
func (w *Walker) OpenArray() bool {
	if !w.open('[', "an array") {
		return false
	}
	if w.Peek() == ']' {
		w.close()
		return false
	}
	return w.Err == nil
}

// TryArray is OpenArray that skips any other value and returns false for it.
func (w *Walker) TryArray() bool {
	if w.Peek() != '[' {
		w.Skip()
		return false
	}
	return w.OpenArray()
}

// NextElement goes to the next element of an array. It returns false, and leaves
// the array, when there is none.
func (w *Walker) NextElement() bool {
	switch w.Peek() {
	case ',':
		w.Pos++
		return true
	case ']':
		w.close()
	default:
		w.Expected("a comma or ]")
	}
	return false
}

func (w *Walker) open(c byte, what string) bool {
	if w.Peek() != c {
		w.Expected(what)
		return false
	}
	if w.depth++; w.depth > maxDepth {
		w.Fail("nested deeper than %d levels", maxDepth)
		return false
	}
	w.Pos++
	return true
}

func (w *Walker) close() {
	w.Pos++
	w.depth--
}

func (w *Walker) member() bool {
	if w.Peek() != '"' {
		w.Expected("a key")
		return false
	}
	raw, escaped := w.StringBody()
	w.Key, w.RawKey = raw, raw
	if escaped {
		w.Key = w.unescaped(raw)
	}
	if w.Peek() != ':' {
		w.Expected("a colon")
		return false
	}
	w.Pos++
	return true
}

// String returns the content of a string, and skips any other value, for which it
// returns nil. Half a surrogate pair becomes U+FFFD; bytes that are not UTF-8 stay.
// The result aliases Text or the buffer of w; its capacity is its length.
func (w *Walker) String() []byte {
	if w.Peek() != '"' {
		w.Skip()
		return nil
	}
	raw, escaped := w.StringBody()
	if !escaped {
		return raw
	}
	return w.unescaped(raw)
}

// unescaped returns the content of the valid string body raw.
func (w *Walker) unescaped(raw []byte) []byte {
	n := len(w.buf)
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			w.buf = append(w.buf, raw...)
			return w.buf[n:len(w.buf):len(w.buf)]
		}
		r, end := Unescape(raw, i)
		w.buf = utf8.AppendRune(append(w.buf, raw[:i]...), r)
		raw = raw[end:]
	}
}

// Value returns the text of the next value of any kind.
func (w *Walker) Value() []byte {
	w.Peek()
	start := w.Pos
	w.Skip()
	if w.Err != nil {
		return nil
	}
	return w.Text[start:w.Pos:w.Pos]
}

// Skip passes over one value.
func (w *Walker) Skip() {
	switch c := w.Peek(); {
	case c == '"':
		w.StringBody()
	case c == '{':
		for ok := w.OpenObject(); ok; ok = w.NextMember() {
			w.Skip()
		}
	case c == '[':
		for ok := w.OpenArray(); ok; ok = w.NextElement() {
			w.Skip()
		}
	case w.Words:
		w.Word()
	case c == 't':
		w.literal("true")
	case c == 'f':
		w.literal("false")
	case c == 'n':
		w.literal("null")
	default:
		w.number()
	}
}

// Word returns the number or bare word (true, null, NaN, -Infinity) that comes
// next. It does not check which.
func (w *Walker) Word() []byte {
	w.Peek()
	start := w.Pos
	for w.Err == nil && w.Pos < len(w.Text) && wordByte(w.Text[w.Pos]) {
		w.Pos++
	}
	if w.Pos == start {
		w.Expected("a value")
		return nil
	}
	return w.Text[start:w.Pos:w.Pos]
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}

// End checks that nothing but white space follows.
func (w *Walker) End() {
	if w.Peek(); w.Err == nil && w.Pos < len(w.Text) {
		w.Expected("the end")
	}
}

// StringBody passes over the string whose opening quote comes next. It returns the text
// between the quotes as written, and whether that holds escapes.
func (w *Walker) StringBody() (raw []byte, escaped bool) {
	b, start := w.Text, w.Pos+1
	for i := start; ; {
		i = IndexSpecial(b, i)
		switch {
		case i == len(b):
			w.Pos = i
			w.Expected(`a closing "`)
			return nil, false
		case b[i] == '"':
			w.Pos = i + 1
			return b[start:i:i], escaped
		case b[i] != '\\':
			w.Pos = i
			w.Expected("no control character in a string")
			return nil, false
		}
		end, err := scanEscape(b, i)
		if err != nil {
			w.Pos = i
			w.Expected("an escape sequence")
			return nil, false
		}
		escaped, i = true, end
	}
}

func (w *Walker) literal(word string) {
	if !bytes.HasPrefix(w.Text[w.Pos:], []byte(word)) {
		w.Expected(word)
		return
	}
	w.Pos += len(word)
}

func (w *Walker) number() {
	if w.Err != nil {
		return
	}
	end, err := number(w.Text, w.Pos)
	if err == nil {
		w.Pos = end
		return
	}
	if w.PythonNumbers {
		for _, word := range [...]string{"NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(w.Text[w.Pos:], []byte(word)) {
				w.Pos += len(word)
				return
			}
		}
	}
	if digits := bytes.TrimPrefix(w.Text[w.Pos:end], []byte("-")); len(digits) == 0 {
		w.Expected("a value")
		return
	}
	w.Pos = end
	w.Expected("a digit")
}

// Expected sets Err to the error that something other than what comes next.
func (w *Walker) Expected(what string) {
	if w.Pos >= len(w.Text) {
		w.Fail("expected %s, but it ends there", what)
		return
	}
	w.Fail("expected %s, found %q", what, sanitize.Cut(w.Text[w.Pos:], 20))
}

// Fail sets Err to an error that names the present position.
func (w *Walker) Fail(format string, args ...any) {
	if w.Err == nil {
		w.Err = fmt.Errorf("JSON, byte %d: %s", w.Pos, fmt.Sprintf(format, args...))
	}
}

// Stop sets Err to err, if err is not nil and there is no error yet.
func (w *Walker) Stop(err error) {
	if w.Err == nil {
		w.Err = err
	}
}
