package jsonscan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Cursor is a position in a file, which it reads as needed. Its methods return ErrCut at
// the end of the file, an *SyntaxError, or the error from reading the file.
type Cursor struct {
	Window
	Pos    int64
	NameAt int64 // where Key found the last name
	// Python takes NaN, Infinity and -Infinity for values too, as Python's
	// json module writes and reads them.
	Python bool
}

// NewCursor returns a Cursor at the start of the size bytes of src, with a
// window of chunk bytes at first. name is for messages; limit is the size of the
// largest value.
func NewCursor(name string, src io.ReaderAt, size, limit int64, chunk int) Cursor {
	return Cursor{Window: Window{
		Name: name, Src: src, Size: size, Limit: limit,
		buf: make([]byte, max(1, min(int64(chunk), size))),
	}}
}

// A SyntaxError locates the first byte that cannot be part of the format.
type SyntaxError struct {
	Name   string
	Offset int64
	Where  string // "experiment 0, request 17", or "" at the top level
	Msg    string // the expected and the found text
}

func (e *SyntaxError) Error() string {
	if e.Where == "" {
		return fmt.Sprintf("%s: byte %d: %s", e.Name, e.Offset, e.Msg)
	}
	return fmt.Sprintf("%s: byte %d: %s: %s", e.Name, e.Offset, e.Where, e.Msg)
}

// ErrCut says that the file ends within the document.
var ErrCut = errors.New("unexpected end of file")

// Syntax returns the error for the file's offset off.
func (c *Cursor) Syntax(off int64, format string, args ...any) error {
	return &SyntaxError{Name: c.Name, Offset: off, Msg: fmt.Sprintf(format, args...)}
}

// TooLarge returns the error for a value at off that exceeds limit bytes.
func (c *Cursor) TooLarge(off int64, what string, limit int64) error {
	return c.Syntax(off, "%s is larger than %d bytes; if the file is sound, raise the limit with --max-value", what, limit)
}

// Peek skips white space and returns the next byte without consuming it.
func (c *Cursor) Peek() (byte, error) {
	for {
		b := c.At(c.Pos)
		i := SkipSpace(b, 0)
		c.Pos += int64(i)
		if i < len(b) {
			return b[i], nil
		}
		if err := c.More(); err != nil {
			return 0, err
		}
	}
}

// More fetches bytes after the bytes in At(Pos).
func (c *Cursor) More() error {
	ok, err := c.grow(c.Pos)
	if err == nil && !ok {
		err = ErrCut
	}
	return err
}

// Value returns the text of the next value, whole and checked. It is valid
// until the next call of a method.
func (c *Cursor) Value(what string) ([]byte, error) {
	if _, err := c.Peek(); err != nil {
		return nil, err
	}
	for {
		b, whole := c.Ahead()
		scan := Value
		if c.Python {
			scan = PythonValue
		}
		end, _, err := scan(b, 0)
		switch {
		case err == nil && int64(end) > c.Limit, errors.Is(err, ErrMore) && whole:
			return nil, c.TooLarge(c.Pos, what, c.Limit)
		case err == nil:
			c.Pos += int64(end)
			return b[:end], nil
		case !errors.Is(err, ErrMore):
			return nil, c.Located(err)
		}
		if err := c.More(); err != nil {
			return nil, err
		}
	}
}

// Ahead returns the bytes in memory from Pos on, at most one more than the
// limit; whole reports that there are that many.
func (c *Cursor) Ahead() (b []byte, whole bool) {
	b = c.At(c.Pos)
	if int64(len(b)) > c.Limit {
		return b[:c.Limit+1], true
	}
	return b, false
}

// Located turns a *Error relative to Pos into one of the file.
func (c *Cursor) Located(err error) error {
	var s *Error
	if errors.As(err, &s) {
		return c.Syntax(c.Pos+int64(s.At), "%s", s.Msg)
	}
	return err
}

// Key reads the next name of an object and the colon after it. more is false
// when the object ends instead. first says that no member came before.
func (c *Cursor) Key(first bool) (name string, more bool, err error) {
	b, err := c.Peek()
	if err != nil {
		return "", false, err
	}
	switch {
	case b == '}':
		c.Pos++
		return "", false, nil
	case first:
	case b != ',':
		return "", false, c.Syntax(c.Pos, "expected ',' or '}', found %q", b)
	default:
		c.Pos++
		if b, err = c.Peek(); err != nil {
			return "", false, err
		}
	}
	if b != '"' {
		return "", false, c.Syntax(c.Pos, "expected a member name, found %q", b)
	}
	c.NameAt = c.Pos
	v, err := c.Value("a member name")
	if err != nil {
		return "", false, err
	}
	name = string(DecodeText(v))
	if b, err = c.Peek(); err != nil {
		return "", false, err
	}
	if b != ':' {
		return "", false, c.Syntax(c.Pos, "expected ':', found %q", b)
	}
	c.Pos++
	_, err = c.Peek()
	return name, true, err
}

// Elem goes to the next element of an array. more is false when the array ends
// instead.
func (c *Cursor) Elem(first bool) (more bool, err error) {
	b, err := c.Peek()
	if err != nil {
		return false, err
	}
	switch {
	case b == ']':
		c.Pos++
		return false, nil
	case first:
		return true, nil
	case b != ',':
		return false, c.Syntax(c.Pos, "expected ',' or ']', found %q", b)
	}
	c.Pos++
	b, err = c.Peek()
	if err == nil && b == ']' {
		err = c.Syntax(c.Pos, "expected a value after ',', found ']'")
	}
	return true, err
}

// Members calls do with the name of each further member of an object, at its value. do goes past the value.
// first says that no member came before. It returns the first error of do.
func (c *Cursor) Members(first bool, do func(name string) error) error {
	for ; ; first = false {
		name, more, err := c.Key(first)
		if err != nil || !more {
			return err
		}
		if err := do(name); err != nil {
			return err
		}
	}
}

// Elements calls do at each further element of an array. do goes past the element. first says that no element
// came before. It returns the first error of do.
func (c *Cursor) Elements(first bool, do func() error) error {
	for ; ; first = false {
		if more, err := c.Elem(first); err != nil || !more {
			return err
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// Skip goes past the array or object at Pos without holding it and without
// checking more than where it ends.
func (c *Cursor) Skip() error {
	var s Skipper
	for {
		n, done := s.Next(c.At(c.Pos))
		c.Pos += int64(n)
		if done {
			return nil
		}
		if err := c.More(); err != nil {
			return err
		}
	}
}

// BOM reports whether the file starts with the UTF-8 byte order mark.
func (c *Cursor) BOM() (bool, error) {
	var b [3]byte
	n, err := c.Src.ReadAt(b[:min(3, c.Size)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s: %w", c.Name, err)
	}
	return n == 3 && string(b[:]) == "\xEF\xBB\xBF", nil
}

// Excerpt returns the start of a value for a message.
func Excerpt(v []byte) string {
	const most = 40
	v = bytes.TrimSpace(v)
	quoted := strconv.Quote(string(sanitize.Cut(v, most)))
	if len(v) > most {
		quoted += "…"
	}
	return quoted
}
