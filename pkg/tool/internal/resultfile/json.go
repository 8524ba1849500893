package resultfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// Decode reads the JSON text v into dst. Python's NaN and infinities are null.
func Decode(v []byte, dst any) error { return json.Unmarshal(finite(v), dst) }

// finite returns v with null instead of NaN, Infinity and -Infinity. It returns v itself
// if it has none.
func finite(v []byte) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			end, err := jsonscan.String(v, i)
			if err != nil {
				return v // not valid: as it is
			}
			i = end
		case c == 'N' || c == 'I' || c == '-' && i+1 < len(v) && v[i+1] == 'I':
			end, _, err := jsonscan.PythonValue(v, i)
			if err != nil {
				return v
			}
			out = append(append(out, v[kept:i]...), "null"...)
			i, kept = end, end
		default:
			i++
		}
	}
	if kept == 0 {
		return v
	}
	return append(out, v[kept:]...)
}

// Values reads a file with a sequence of JSON values: JSON lines, or concatenated
// documents.
type Values struct {
	C     *jsonscan.Cursor
	At    int64 // offset of the last one
	Index int   // of the next one
}

// Next returns the text of the next value, valid until the next call, or
// io.EOF.
func (v *Values) Next(what string) ([]byte, error) {
	if _, err := v.C.Peek(); err != nil {
		if errors.Is(err, jsonscan.ErrCut) {
			err = io.EOF
		}
		return nil, err
	}
	v.At = v.C.Pos
	v.Index++
	b, err := v.C.Value(what)
	var syntax *export.SyntaxError
	if errors.As(err, &syntax) {
		return nil, v.leaveLine(syntax)
	}
	return b, err
}

// leaveLine goes to the next line that begins with an object, and returns a *BadEntry for the text
// before that line. It returns syntax if there is no such line.
func (v *Values) leaveLine(syntax *export.SyntaxError) error {
	c := v.C
	for c.Pos = v.At + 1; ; {
		b := c.At(c.Pos)
		if i := bytes.Index(b, []byte("\n{")); i >= 0 {
			c.Pos += int64(i) + 1
			return &BadEntry{At: syntax.Offset, Msg: syntax.Msg}
		}
		c.Pos += int64(max(0, len(b)-1))
		switch err := c.More(); {
		case errors.Is(err, jsonscan.ErrCut):
			return syntax
		case err != nil:
			return err
		}
	}
}

// Enter passes over the opening bracket of an object or array; what names it in the
// error.
func Enter(c *jsonscan.Cursor, bracket byte, what string) error {
	b, err := c.Peek()
	if err == nil && b != bracket {
		err = c.Syntax(c.Pos, "%s: expected %q, found %q", what, bracket, b)
	}
	c.Pos++
	return err
}

// EachMember enters an object and calls do at the value of each member. do moves c past
// the value. what names the object in the error.
func EachMember(c *jsonscan.Cursor, what string, do func(name string) error) error {
	if err := Enter(c, '{', what); err != nil {
		return err
	}
	for first := true; ; first = false {
		name, more, err := c.Key(first)
		if err != nil || !more {
			return err
		}
		if err := do(name); err != nil {
			return err
		}
	}
}

// EachMemberOf calls EachMember if the next value is an object, and else skips the value.
func EachMemberOf(c *jsonscan.Cursor, what string, do func(name string) error) error {
	b, err := c.Peek()
	if err == nil && b != '{' {
		return Skip(c)
	}
	return EachMember(c, what, do)
}

// Skip moves c past a value of any kind.
func Skip(c *jsonscan.Cursor) error {
	b, err := c.Peek()
	if err != nil {
		return err
	}
	if b == '{' || b == '[' {
		return c.Skip()
	}
	_, err = c.Value("a value")
	return err
}

// TypeError describes a value that lacks the members of its format.
func TypeError(at int64, err error) *BadEntry {
	return &BadEntry{At: at, Msg: jsonscan.InWords(err).Error()}
}

// CountElements moves c past the array at Pos and returns the number of its elements.
func CountElements(c *jsonscan.Cursor) (int64, error) {
	c.Pos++
	for n := int64(0); ; n++ {
		more, err := c.Elem(n == 0)
		if err != nil || !more {
			return n, err
		}
		if err := Skip(c); err != nil {
			return n, err
		}
	}
}

// IsCut reports whether err says that the file ended too early.
func IsCut(err error) bool { return errors.Is(err, jsonscan.ErrCut) }

// ParseFloat reads a number as Python writes it, also NaN and infinities. null is NaN.
func ParseFloat(v []byte) (float64, error) {
	switch string(v) {
	case "NaN", "null":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	return strconv.ParseFloat(string(v), 64)
}

// Requests reads an array of requests.
type Requests struct {
	C     *jsonscan.Cursor
	Index int // of the next one
}

// Where implements Source.
func (s *Requests) Where() string { return fmt.Sprintf("request %d", max(s.Index-1, 0)) }

// NextRequest reads the next element into dst, and sets r.ID to its index. at is where the element
// begins. The error is io.EOF behind the last element, and a [*BadEntry] for an element that dst cannot hold.
func (s *Requests) NextRequest(r *export.Request, dst any) (at int64, err error) {
	switch more, err := s.C.Elem(s.Index == 0); {
	case err != nil:
		return 0, err
	case !more:
		return 0, io.EOF
	}
	r.ID = uint64(s.Index)
	s.Index++
	v, err := s.C.Value("the request")
	if err != nil {
		return 0, err
	}
	at = s.C.Pos - int64(len(v))
	if err := Decode(v, dst); err != nil {
		return at, TypeError(at, err)
	}
	return at, nil
}
