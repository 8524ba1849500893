package py

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An Object is a dict: members in the order of their insertion.
type Object []Member

// Set sets a member. A name that is set again keeps its place, as in a dict.
func (o *Object) Set(name string, value any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Member{name, value})
}

// A Member is a name and its value.
type Member struct {
	Name  string
	Value any
}

// An Array is a list of values of any kind.
type Array []any

// A Raw value is JSON text that is written as it is.
type Raw string

// A Column is a list of N values that are made one by one: see [WriteJSON].
type Column struct {
	N     int
	Value func(i int) any
}

// WriteJSON writes o to w on one line, as AppendJSON does, and each [Column] among its members element by
// element, so that the list is never in memory.
func WriteJSON(w io.Writer, o Object) error {
	var b []byte
	for i, m := range o {
		b = append(AppendJSONString(append(b, []string{"{", ", "}[min(i, 1)]...), m.Name), ": "...)
		c, isColumn := m.Value.(Column)
		if !isColumn {
			b = AppendJSON(b, m.Value, 0)
			continue
		}
		b = append(b, '[')
		for k := range c.N {
			if k > 0 {
				b = append(b, ", "...)
			}
			b = AppendJSON(b, c.Value(k), 0)
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
		b = append(b, ']')
	}
	if len(o) == 0 {
		b = append(b, '{')
	}
	_, err := w.Write(append(b, '}'))
	return err
}

// AppendJSON appends v to b. indent is as for json.dumps: 0 means everything on one line
// (indent=None), n > 0 a line for each element, indented by n blanks per level. No line
// end follows the last line.
//
// v is nil, a bool, int, int64, uint64, float64, string, []float64, []int64,
// []string, [Array], [Object] or [Raw]; anything else is a mistake of the
// programmer and panics. Bytes that are not UTF-8 become U+FFFD.
func AppendJSON(b []byte, v any, indent int) []byte { return AppendJSONWithin(b, v, indent, 0) }

// AppendJSONWithin does as AppendJSON for a value within so many lists and dicts.
func AppendJSONWithin(b []byte, v any, indent, depth int) []byte {
	w := writer{indent: indent, text: AppendJSONString}
	return w.value(b, v, depth)
}

// AppendJSONUnicode does as AppendJSON, with strings as ensure_ascii=False has them:
// nothing beyond ASCII is escaped.
func AppendJSONUnicode(b []byte, v any, indent int) []byte {
	w := writer{indent: indent, text: appendUnicode}
	return w.value(b, v, 0)
}

// AppendORJSON appends v as orjson.dumps writes it: without blanks, with nothing beyond
// ASCII escaped, null for NaN and infinities, and its own form of small numbers
// ("0.00001", "1e-6").
func AppendORJSON(b []byte, v any) []byte {
	w := writer{text: appendUnicode, orjson: true}
	return w.value(b, v, 0)
}

type writer struct {
	indent int
	text   func(b []byte, s string) []byte
	orjson bool
}

func (w writer) float(b []byte, f float64) []byte {
	if w.orjson {
		return appendORJSONFloat(b, f)
	}
	return appendFloat(b, f)
}

func (w writer) value(b []byte, v any, depth int) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case uint64:
		return strconv.AppendUint(b, v, 10)
	case float64:
		return w.float(b, v)
	case string:
		return w.text(b, v)
	case Raw:
		return append(b, v...)
	case []float64:
		return list(w, b, depth, v, w.float)
	case []int64:
		return list(w, b, depth, v, func(b []byte, x int64) []byte { return strconv.AppendInt(b, x, 10) })
	case []string:
		return list(w, b, depth, v, w.text)
	case Array:
		return list(w, b, depth, v, func(b []byte, x any) []byte { return w.value(b, x, depth+1) })
	case Object:
		return w.object(b, v, depth)
	}
	panic(fmt.Sprintf("py: a value of type %T", v))
}

func (w writer) object(b []byte, o Object, depth int) []byte {
	if len(o) == 0 {
		return append(b, "{}"...)
	}
	b = append(b, '{')
	for i := range o {
		b = w.next(b, i, depth+1)
		b = w.text(b, o[i].Name)
		if b = append(b, ':'); !w.orjson {
			b = append(b, ' ')
		}
		b = w.value(b, o[i].Value, depth+1)
	}
	return append(w.line(b, depth), '}')
}

// list appends a list; it is no method because methods have no type parameters.
func list[T any](w writer, b []byte, depth int, x []T, element func([]byte, T) []byte) []byte {
	if len(x) == 0 {
		return append(b, "[]"...)
	}
	b = append(b, '[')
	for i := range x {
		b = element(w.next(b, i, depth+1), x[i])
	}
	return append(w.line(b, depth), ']')
}

// next begins element i of a list or object.
func (w writer) next(b []byte, i, depth int) []byte {
	switch {
	case i > 0 && w.orjson:
		return append(b, ',')
	case i > 0 && w.indent == 0:
		return append(b, ", "...)
	case i > 0:
		b = append(b, ',')
	}
	return w.line(b, depth)
}

// line begins a line, unless everything is on one.
func (w writer) line(b []byte, depth int) []byte {
	if w.indent == 0 {
		return b
	}
	b = append(b, '\n')
	for range depth * w.indent {
		b = append(b, ' ')
	}
	return b
}

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return append(b, Repr(f)...)
}

// appendORJSONFloat writes a float as orjson 3.13 does: with an exponent below
// 1e-5 and from 1e16 on, that has no leading zero.
func appendORJSONFloat(b []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(b, "null"...)
	case abs >= 1e16:
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	case abs != 0 && abs < 1e-5:
		text := strconv.FormatFloat(f, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(text, "e-0")
		if exponent == "" {
			return append(b, text...)
		}
		return append(append(append(b, mantissa...), "e-"...), exponent...)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !bytes.ContainsRune(b[n:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

// AppendJSONString appends s in quotes. It escapes everything but printable ASCII, and
// characters beyond U+FFFF as a surrogate pair.
func AppendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			b = appendASCII(b, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			b = appendEscape(appendEscape(b, high), low)
		} else {
			b = appendEscape(b, r)
		}
	}
	return append(b, '"')
}

// appendUnicode appends s in quotes and escapes only the necessary characters.
func appendUnicode(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == 0x7f || r >= utf8.RuneSelf:
			b = utf8.AppendRune(b, r)
		default:
			b = appendASCII(b, byte(r))
		}
	}
	return append(b, '"')
}

func appendASCII(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	}
	if c < ' ' || c > '~' {
		return appendEscape(b, rune(c))
	}
	return append(b, c)
}

// appendEscape appends \uXXXX for r ≤ 0xFFFF.
func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
