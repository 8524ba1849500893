package openai

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a body; real ones have less than ten levels.
const maxDepth = 512

// A scanner walks once over a JSON text and checks it on the way: what it
// accepts is what encoding/json.Valid accepts, up to maxDepth. It exists
// because a recorded run holds millions of chunks of which few bytes matter.
//
// The first error sticks: from then on every method returns a zero value, and
// loops end.
//
//	for ok := s.openObject(); ok; ok = s.nextMember() {
//		switch string(s.key) {
//		case "id":
//			id = s.text()
//		default:
//			s.skip()
//		}
//	}
type scanner struct {
	b      []byte
	pos    int
	key    []byte // of the present member, unescaped
	rawKey []byte // the same, as written
	err    error

	buf   []byte // unescaped strings; grows, so slices of it stay good
	depth int
}

func (s *scanner) reset(b []byte) {
	*s = scanner{b: b, buf: s.buf[:0]}
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) openObject() bool {
	if !s.open('{', "an object") {
		return false
	}
	if s.peek() == '}' {
		s.close()
		return false
	}
	return s.member()
}

func (s *scanner) nextMember() bool {
	switch s.peek() {
	case ',':
		s.pos++
		return s.member()
	case '}':
		s.close()
	default:
		s.expected("a comma or }")
	}
	return false
}

func (s *scanner) openArray() bool {
	if !s.open('[', "an array") {
		return false
	}
	if s.peek() == ']' {
		s.close()
		return false
	}
	return s.err == nil
}

func (s *scanner) nextElement() bool {
	switch s.peek() {
	case ',':
		s.pos++
		return true
	case ']':
		s.close()
	default:
		s.expected("a comma or ]")
	}
	return false
}

func (s *scanner) open(c byte, what string) bool {
	if s.peek() != c {
		s.expected(what)
		return false
	}
	if s.depth++; s.depth > maxDepth {
		s.fail(fmt.Errorf("nested deeper than %d levels", maxDepth))
		return false
	}
	s.pos++
	return true
}

func (s *scanner) close() {
	s.pos++
	s.depth--
}

func (s *scanner) member() bool {
	if s.peek() != '"' {
		s.expected("a key")
		return false
	}
	raw, escaped := s.stringBody()
	s.key, s.rawKey = raw, raw
	if escaped {
		s.key = s.unescaped(raw)
	}
	if s.peek() != ':' {
		s.expected("a colon")
		return false
	}
	s.pos++
	return true
}

// text returns the content of a string and skips any other value, for which
// it returns nil. The result aliases the input or buf; its capacity is its
// length.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	raw, escaped := s.stringBody()
	if !escaped {
		return raw
	}
	return s.unescaped(raw)
}

func (s *scanner) unescaped(raw []byte) []byte {
	n := len(s.buf)
	s.buf = appendUnescaped(s.buf, raw)
	return s.buf[n:len(s.buf):len(s.buf)]
}

// value returns the text of the next value, whatever it is.
func (s *scanner) value() []byte {
	s.peek()
	start := s.pos
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.b[start:s.pos:s.pos]
}

// count returns a number as a count of things: ok is false for a value that
// is not a number from 0 to 2^53.
func (s *scanner) count() (n int64, ok bool) {
	c := s.peek()
	if c != '-' && (c < '0' || c > '9') {
		s.skip()
		return 0, false
	}
	return parseCount(s.value())
}

// skip passes over one value.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '"':
		s.stringBody()
	case '{':
		for ok := s.openObject(); ok; ok = s.nextMember() {
			s.skip()
		}
	case '[':
		for ok := s.openArray(); ok; ok = s.nextElement() {
			s.skip()
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// end checks that nothing follows.
func (s *scanner) end() {
	if s.peek(); s.err == nil && s.pos < len(s.b) {
		s.expected("the end")
	}
}

// plain marks the bytes that a string holds as themselves.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// stringBody passes over a string and returns what is between its quotes.
func (s *scanner) stringBody() (raw []byte, escaped bool) {
	b, start := s.b, s.pos+1
	for i := start; i < len(b); {
		c := b[i]
		switch {
		case plain[c]:
			i++
		case c == '"':
			s.pos = i + 1
			return b[start:i:i], escaped
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				s.pos = i
				s.expected("an escape sequence")
				return nil, false
			}
			escaped = true
			i += n
		default:
			s.pos = i
			s.expected("no control character in a string")
			return nil, false
		}
	}
	s.pos = len(b)
	s.expected(`a closing "`)
	return nil, false
}

// escapeLen returns the length of the escape sequence that b starts with, 0
// if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func (s *scanner) literal(word string) {
	if !bytes.HasPrefix(s.b[s.pos:], []byte(word)) {
		s.expected(word)
		return
	}
	s.pos += len(word)
}

func (s *scanner) number() {
	b, i := s.b, s.pos
	if s.err != nil {
		return
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch n := digits(b[min(i, len(b)):]); {
	case n == 0:
		s.expected("a value")
		return
	case b[i] == '0':
		i++
	default:
		i += n
	}
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			s.pos = i + 1
			s.expected("a digit")
			return
		}
		i += 1 + n
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			s.pos = i
			s.expected("a digit")
			return
		}
		i += n
	}
	s.pos = i
}

func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// errCut is the cause of errors about bodies that end too early.
var errCut = errors.New("it ends there")

func (s *scanner) expected(what string) {
	if s.pos >= len(s.b) {
		s.fail(fmt.Errorf("expected %s, but %w", what, errCut))
		return
	}
	s.fail(fmt.Errorf("expected %s, found %q", what, clip(s.b[s.pos:], 20)))
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("JSON, byte %d: %w", s.pos, err)
	}
}

// clip returns at most n bytes of b, not cut inside a character.
func clip(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(b[i]) {
			return b[:i]
		}
	}
	return b[:n]
}

// appendUnescaped appends the content of a valid string body. Half a
// surrogate pair becomes U+FFFD; bytes that are not UTF-8 stay.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		r, n := unescape(raw[i:])
		dst = utf8.AppendRune(dst, r)
		raw = raw[i+n:]
	}
}

// unescape reads the valid escape sequence that b starts with, both halves of
// a surrogate pair.
func unescape(b []byte) (r rune, n int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(b[1]), 2
	}
	r, _ = hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b[8:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
