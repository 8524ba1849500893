package profilejson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/pa-tools/pa/pkg/export"
)

// A cursor is a position in a file that fetches what it needs. Its methods
// that return an error return errCut at the end of the file, *export.SyntaxError,
// or what reading the file returned.
type cursor struct {
	window
	pos    int64
	nameAt int64 // where key found the last name
}

// errCut says that the file ends within the document.
var errCut = errors.New("unexpected end of file")

// syntax returns the error for the file's offset off.
func (c *cursor) syntax(off int64, format string, args ...any) error {
	return &export.SyntaxError{Name: c.name, Offset: off, Msg: fmt.Sprintf(format, args...)}
}

// tooLarge returns the error for a value at off that exceeds limit bytes.
func (c *cursor) tooLarge(off int64, what string, limit int64) error {
	return c.syntax(off, "%s is larger than %d bytes; if the file is sound, raise the limit with --max-value", what, limit)
}

// peek skips white space and returns the next byte without consuming it.
func (c *cursor) peek() (byte, error) {
	for {
		b := c.at(c.pos)
		i := skipSpace(b, 0)
		c.pos += int64(i)
		if i < len(b) {
			return b[i], nil
		}
		if err := c.more(); err != nil {
			return 0, err
		}
	}
}

// more fetches bytes beyond those that at(pos) has.
func (c *cursor) more() error {
	ok, err := c.grow(c.pos)
	if err == nil && !ok {
		err = errCut
	}
	return err
}

// value returns the text of the next value, whole and checked. It is valid
// until the next call of a method.
func (c *cursor) value(what string) ([]byte, error) {
	if _, err := c.peek(); err != nil {
		return nil, err
	}
	for {
		b, whole := c.ahead()
		end, _, err := scanValue(b, 0)
		switch {
		case err == nil && int64(end) > c.limit, errors.Is(err, errMore) && whole:
			return nil, c.tooLarge(c.pos, what, c.limit)
		case err == nil:
			c.pos += int64(end)
			return b[:end], nil
		case !errors.Is(err, errMore):
			return nil, c.located(err)
		}
		if err := c.more(); err != nil {
			return nil, err
		}
	}
}

// ahead returns the bytes in memory from pos on, at most one more than the
// limit; whole reports that there are that many.
func (c *cursor) ahead() (b []byte, whole bool) {
	b = c.at(c.pos)
	if int64(len(b)) > c.limit {
		return b[:c.limit+1], true
	}
	return b, false
}

// located turns a *scanError relative to pos into one of the file.
func (c *cursor) located(err error) error {
	var s *scanError
	if errors.As(err, &s) {
		return c.syntax(c.pos+int64(s.at), "%s", s.msg)
	}
	return err
}

// key reads the next name of an object and the colon after it. more is false
// when the object ends instead. first says that no member came before.
func (c *cursor) key(first bool) (name string, more bool, err error) {
	b, err := c.peek()
	if err != nil {
		return "", false, err
	}
	switch {
	case b == '}':
		c.pos++
		return "", false, nil
	case first:
	case b != ',':
		return "", false, c.syntax(c.pos, "expected ',' or '}', found %q", b)
	default:
		c.pos++
		if b, err = c.peek(); err != nil {
			return "", false, err
		}
	}
	if b != '"' {
		return "", false, c.syntax(c.pos, "expected a member name, found %q", b)
	}
	c.nameAt = c.pos
	v, err := c.value("a member name")
	if err != nil {
		return "", false, err
	}
	name = string(decodeText(v))
	if b, err = c.peek(); err != nil {
		return "", false, err
	}
	if b != ':' {
		return "", false, c.syntax(c.pos, "expected ':', found %q", b)
	}
	c.pos++
	_, err = c.peek()
	return name, true, err
}

// elem goes to the next element of an array. more is false when the array ends
// instead.
func (c *cursor) elem(first bool) (more bool, err error) {
	b, err := c.peek()
	if err != nil {
		return false, err
	}
	switch {
	case b == ']':
		c.pos++
		return false, nil
	case first:
		return true, nil
	case b != ',':
		return false, c.syntax(c.pos, "expected ',' or ']', found %q", b)
	}
	c.pos++
	b, err = c.peek()
	if err == nil && b == ']' {
		err = c.syntax(c.pos, "expected a value after ',', found ']'")
	}
	return true, err
}

// skip goes past the array or object at pos without holding it and without
// checking more than where it ends.
func (c *cursor) skip() error {
	var s skipper
	for {
		n, done := s.run(c.at(c.pos))
		c.pos += int64(n)
		if done {
			return nil
		}
		if err := c.more(); err != nil {
			return err
		}
	}
}

// A skipper finds the end of an array or object in pieces of any size.
type skipper struct {
	depth    int
	inString bool
	escape   bool // the last byte was a backslash in a string
}

// run consumes b up to the end of the container, done, or all of it.
func (s *skipper) run(b []byte) (n int, done bool) {
	i := 0
	if s.escape && len(b) > 0 {
		s.escape = false
		i = 1
	}
	for i < len(b) {
		if s.inString {
			for i+8 <= len(b) {
				w := binary.LittleEndian.Uint64(b[i:])
				q, e := w^lsb*'"', w^lsb*'\\'
				m := ((q-lsb)&^q | (e-lsb)&^e) & msb
				if m == 0 {
					i += 8
					continue
				}
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			for i < len(b) && b[i] != '"' && b[i] != '\\' {
				i++
			}
			switch {
			case i == len(b):
			case b[i] == '"':
				s.inString = false
				i++
			case i+1 == len(b):
				s.escape = true
				i++
			default:
				i += 2
			}
			continue
		}
		switch b[i] {
		case '"':
			s.inString = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return i + 1, true
			}
		}
		i++
	}
	return i, false
}

// decodeText returns the content of the valid JSON string v in new memory.
func decodeText(v []byte) []byte {
	a := arena{buf: make([]byte, len(v))}
	data, _, err := a.text(v, 0)
	if err != nil {
		return nil
	}
	return append([]byte{}, data...)
}

// valueOf returns the value of the valid JSON text v in new memory.
func valueOf(v []byte) export.Value {
	if v[0] == '"' {
		return export.Value{Text: true, Data: decodeText(v)}
	}
	return export.Value{Data: appendCompact(nil, v)}
}

// isBOM reports whether the file starts with the UTF-8 byte order mark.
func (c *cursor) isBOM() (bool, error) {
	var b [3]byte
	n, err := c.src.ReadAt(b[:min(3, c.size)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s: %w", c.name, err)
	}
	return n == 3 && string(b[:]) == "\xEF\xBB\xBF", nil
}
