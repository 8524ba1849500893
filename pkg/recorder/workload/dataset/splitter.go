package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A splitter finds where the values of a JSON text are, without holding them. It knows
// brackets, strings and the text between them; the reader of a value checks it. Its
// errors are of type *Error, without the name of the file, or of the reader.
//
// Invariant: 0 ≤ i ≤ n ≤ len(buf); buf[i:n] was read and not looked at; buf[0]
// is byte base of the text.
type splitter struct {
	r    io.Reader
	buf  [64 << 10]byte
	i, n int
	base int64
	err  error // of r; io.EOF at the end
}

// offset returns which byte of the text comes next.
func (s *splitter) offset() int64 { return s.base + int64(s.i) }

// more refills buf when all of it was scanned. It returns false at the end of the input.
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

// take reads over c if that comes next.
func (s *splitter) take(c byte) bool {
	if s.peek() != c || s.i == s.n {
		return false
	}
	s.i++
	return true
}

// expect reads over c.
func (s *splitter) expect(c byte) error {
	if s.take(c) {
		return nil
	}
	return s.expected(fmt.Sprintf("%q", c))
}

// expected is the error of something else being next.
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

// cut is the error of the text ending inside the value that began at off.
func (s *splitter) cut(off int64) error {
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return s.errorAt(off, "not valid JSON: the file ends inside the value that begins here")
}

// skip reads over one value and returns where it is.
func (s *splitter) skip() (start, end int64, err error) {
	c := s.peek()
	start = s.offset()
	switch c {
	case '{', '[', '"':
		if !s.skipTo() {
			return 0, 0, s.cut(start)
		}
	case 0, ',', ':', ']', '}':
		return 0, 0, s.expected("a value")
	default:
		s.skipWord()
	}
	return start, s.offset(), nil
}

// skipTo reads to the end of the string, object or array that comes next; false
// says that the text ends before.
func (s *splitter) skipTo() bool {
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

// skipWord reads over a number, true, false, null, NaN, -Infinity.
func (s *splitter) skipWord() {
	for s.more() {
		switch s.buf[s.i] {
		case ' ', '\t', '\r', '\n', ',', ':', ']', '}', '[', '{', '"':
			return
		}
		s.i++
	}
}

// elements calls f at the start of each element of an array; f reads over it.
func (s *splitter) elements(f func() error) error { return s.list('[', ']', f) }

// list reads the values between two brackets and commas.
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
