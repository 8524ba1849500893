package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A splitter finds the positions of the values in a JSON text, without keeping the values in
// memory. It checks only brackets, strings and separators; whoever reads a value checks the
// rest. Its errors are of type *Error, without the name of the file, or come from r.
//
// Invariant: 0 ≤ i ≤ n ≤ len(buf); buf[i:n] is not scanned yet; buf[0] is byte base of
// the text.
type splitter struct {
	r    io.Reader
	buf  [64 << 10]byte
	i, n int
	base int64
	err  error // of r; io.EOF at the end
}

// offset returns the offset of the next byte in the text.
func (s *splitter) offset() int64 { return s.base + int64(s.i) }

// more refills buf when all of buf is scanned. It returns false at the end of the input.
func (s *splitter) more() bool {
	for s.i == s.n && s.err == nil {
		s.base += int64(s.n)
		s.i = 0
		s.n, s.err = s.r.Read(s.buf[:])
	}
	return s.i < s.n
}

// peek skips white space and returns the next byte; 0 at the end.
func (s *splitter) peek() byte {
	for s.more() {
		if s.i = jsonscan.SkipSpace(s.buf[:s.n], s.i); s.i < s.n {
			return s.buf[s.i]
		}
	}
	return 0
}

// take skips white space, and then c if c is next. It reports whether it skipped c.
func (s *splitter) take(c byte) bool {
	if s.peek() != c || s.i == s.n {
		return false
	}
	s.i++
	return true
}

// expect skips white space and c. It returns an error if c is not next.
func (s *splitter) expect(c byte) error {
	if s.take(c) {
		return nil
	}
	return s.expected(fmt.Sprintf("%q", c))
}

// expected returns the error for a text that does not continue with what.
func (s *splitter) expected(what string) error {
	c := s.peek()
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	if s.i == s.n {
		return s.errorAt(s.offset(), "not valid JSON: expected %s, but the file ends here", what)
	}
	return s.errorAt(s.offset(), "not valid JSON: expected %s, found %q", what, c)
}

func (s *splitter) errorAt(off int64, format string, args ...any) error {
	return &Error{Kind: byOffset, Offset: off, Err: fmt.Errorf(format, args...)}
}

// cut returns the error for a text that ends inside the value at off.
func (s *splitter) cut(off int64) error {
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return s.errorAt(off, "not valid JSON: the file ends inside the value that begins here")
}

// skip skips one value and returns its position.
func (s *splitter) skip() (start, end int64, err error) {
	c := s.peek()
	start = s.offset()
	switch c {
	case '{', '[', '"':
		if !s.skipNested() {
			return 0, 0, s.cut(start)
		}
	case 0, ',', ':', ']', '}':
		return 0, 0, s.expected("a value")
	default:
		s.skipWord()
	}
	return start, s.offset(), nil
}

// skipNested skips the next value, a string, an object or an array. It returns false if the
// text ends inside the value.
func (s *splitter) skipNested() bool {
	var value jsonscan.Skipper
	for s.more() {
		n, done := value.Next(s.buf[s.i:s.n])
		s.i += n
		if done {
			return true
		}
	}
	return false
}

// skipWord skips a number, true, false, null, NaN or -Infinity.
func (s *splitter) skipWord() {
	for s.more() {
		switch s.buf[s.i] {
		case ' ', '\t', '\r', '\n', ',', ':', ']', '}', '[', '{', '"':
			return
		}
		s.i++
	}
}

// elements calls f at the start of each element of an array; f must skip the element.
func (s *splitter) elements(f func() error) error { return s.list('[', ']', f) }

// list calls f at the start of each value between two brackets; f must skip the value.
func (s *splitter) list(open, end byte, f func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.take(end) {
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if s.take(end) {
			return nil
		}
		if !s.take(',') {
			return s.expected(fmt.Sprintf("',' or %q", end))
		}
	}
}
