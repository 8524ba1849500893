package kserve

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// maxDepth bounds the nesting of a tensor, maxSkipDepth that of other values.
const (
	maxDepth     = 64
	maxSkipDepth = 1000
)

// jsonScanner reads JSON by hand where a strict reader would not do:
// perf_analyzer's input data may hold NaN and Infinity, and strings that are
// not UTF-8, which are passed on byte for byte.
//
// Invariant: 0 ≤ i ≤ len(b); b[:i] is read.
type jsonScanner struct {
	b []byte
	i int
}

// errorf returns an error at the present position.
func (s *jsonScanner) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: "+format, append([]any{s.i}, args...)...)
}

// peek skips white space and returns the next byte; 0 at the end.
func (s *jsonScanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// describe names what comes next, for messages.
func (s *jsonScanner) describe() string {
	switch c := s.peek(); {
	case s.i == len(s.b):
		return "the end"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	}
	return strconv.Quote(clip(string(s.b[s.i:min(len(s.b), s.i+40)])))
}

// end checks that nothing follows.
func (s *jsonScanner) end() error {
	if s.peek(); s.i < len(s.b) {
		return s.errorf("%s after the value", s.describe())
	}
	return nil
}

func (s *jsonScanner) expect(c byte) error {
	if s.peek() != c || s.i == len(s.b) {
		return s.errorf("want %q, found %s", c, s.describe())
	}
	s.i++
	return nil
}

// array calls elem at the start of each element; elem reads it.
func (s *jsonScanner) array(elem func() error) error {
	return s.list('[', ']', elem)
}

// object calls member at the start of each value; member reads it.
func (s *jsonScanner) object(member func(key string) error) error {
	return s.list('{', '}', func() error {
		if s.peek() != '"' {
			return s.errorf("want a member name, found %s", s.describe())
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return member(key)
	})
}

func (s *jsonScanner) list(open, end byte, item func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.peek() == end {
		s.i++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.i++
		case end:
			s.i++
			return nil
		default:
			return s.errorf("want ',' or %q, found %s", end, s.describe())
		}
	}
}

// skip reads over any value.
func (s *jsonScanner) skip(depth int) error {
	if depth >= maxSkipDepth {
		return s.errorf("nested deeper than %d", maxSkipDepth)
	}
	switch s.peek() {
	case '{':
		return s.object(func(string) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case '"':
		_, err := s.str()
		return err
	}
	_, err := s.token()
	return err
}

// token reads a number or a bare word (true, null, NaN, -Infinity).
func (s *jsonScanner) token() (string, error) {
	s.peek()
	start := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.' {
			s.i++
			continue
		}
		break
	}
	if s.i == start {
		return "", s.errorf("want a value, found %s", s.describe())
	}
	return string(s.b[start:s.i]), nil
}

// str reads a string. Bytes that are not UTF-8 are kept; a lone surrogate
// escape becomes U+FFFD.
func (s *jsonScanner) str() (string, error) {
	start := s.i
	s.i++ // the quote
	from := s.i
	var out []byte // nil while there was no escape
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			chunk := s.b[from:s.i]
			s.i++
			if out == nil {
				return string(chunk), nil
			}
			return string(append(out, chunk...)), nil
		case c == '\\':
			out = append(out, s.b[from:s.i]...)
			var err error
			if out, err = s.escape(out); err != nil {
				return "", err
			}
			from = s.i
		case c < 0x20:
			return "", s.errorf("control character %#02x in a string; write it as an escape", c)
		default:
			s.i++
		}
	}
	s.i = start
	return "", s.errorf("string without an end")
}

// escape reads one escape sequence at the backslash.
func (s *jsonScanner) escape(out []byte) ([]byte, error) {
	if s.i+1 >= len(s.b) {
		return nil, s.errorf("escape without an end")
	}
	if c := s.b[s.i+1]; c != 'u' {
		k := strings.IndexByte(`"\/bfnrt`, c)
		if k < 0 {
			return nil, s.errorf("escape \\%c is not JSON", c)
		}
		s.i += 2
		return append(out, "\"\\/\b\f\n\r\t"[k]), nil
	}
	r, ok := s.hex4()
	if !ok {
		return nil, s.errorf("\\u without four hexadecimal digits")
	}
	s.i += 6
	if utf16.IsSurrogate(r) {
		if low, ok := s.hex4(); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			s.i += 6
			r = utf16.DecodeRune(r, low)
		} else {
			r = utf8.RuneError
		}
	}
	return utf8.AppendRune(out, r), nil
}

// hex4 returns the rune of a \uXXXX at the present position.
func (s *jsonScanner) hex4() (rune, bool) {
	if s.i+6 > len(s.b) || s.b[s.i] != '\\' || s.b[s.i+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s.b[s.i+2:s.i+6]), 16, 16)
	return rune(v), err == nil
}

// parseFloat reads a JSON number, or one of the words that perf_analyzer's
// parser takes. strconv alone is too generous: it takes 0x1p-2, 1_000 and +1.
func parseFloat(tok string) (float64, error) {
	neg := strings.HasPrefix(tok, "-")
	switch strings.TrimPrefix(tok, "-") {
	case "NaN":
		return math.NaN(), nil
	case "Inf", "Infinity":
		if neg {
			return math.Inf(-1), nil
		}
		return math.Inf(1), nil
	}
	if !isNumber(tok) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(tok, 64)
}

// isNumber reports whether tok is a number of JSON's grammar:
//
//	"-"? ("0" | [1-9][0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
func isNumber(tok string) bool {
	digits := func(s string) string { return strings.TrimLeft(s, "0123456789") }
	s := strings.TrimPrefix(tok, "-")
	rest := digits(s)
	if n := len(s) - len(rest); n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		s, rest = rest[1:], digits(rest[1:])
		if len(s) == len(rest) {
			return false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		s = rest[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		rest = digits(s)
		if len(s) == len(rest) {
			return false
		}
	}
	return rest == ""
}

func outOfRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

// appendString appends s as a JSON string the way RapidJSON does: control
// characters escaped, everything else, UTF-8 or not, as it is.
func appendString(b, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			if k := strings.IndexByte("\b\f\n\r\t", c); k >= 0 {
				b = append(b, '\\', "bfnrt"[k])
			} else {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	return append(b, '"')
}

// clip bounds foreign text in messages.
func clip(s string) string { return sanitize.Clip(s, 60) }
