package jsonscan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrMore says that the bytes in memory end too soon.
var ErrMore = errors.New("more input needed")

// An Error is a violation of the grammar at b[At].
type Error struct {
	At  int
	Msg string
}

func (e *Error) Error() string { return e.Msg }

// expected returns the error for a b[i] that the grammar does not allow.
func expected(what string, b []byte, i int) error {
	if i >= len(b) {
		return ErrMore
	}
	return &Error{i, fmt.Sprintf("expected %s, found %q", what, b[i])}
}

// maxDepth bounds how deep arrays and objects may nest within one value.
// perf_analyzer writes no deeper than 2.
const maxDepth = 512

// SkipSpace returns the position of the first byte from i on that is no white
// space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

const (
	lsb = 0x0101010101010101
	msb = 0x8080808080808080
)

// Specials sets the highest bit of bytes of w that are '"', '\\' or below
// 0x20. Each of the three terms is exact up to its first hit (a borrow spreads
// only upwards from a true one), so the lowest bit set is a true hit.
func Specials(w uint64) uint64 {
	q := w ^ lsb*'"'
	s := w ^ lsb*'\\'
	return ((q-lsb)&^q | (s-lsb)&^s | (w-lsb*0x20)&^w) & msb
}

// IndexSpecial returns the position at or after i of the first '"', '\\' or
// control character, or len(b).
func IndexSpecial(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := Specials(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// IsPlain reports whether text has no '"', '\\' or control character.
func IsPlain(text []byte) bool { return IndexSpecial(text, 0) == len(text) }

// String scans the string whose opening quote is b[i].
func String(b []byte, i int) (end int, err error) {
	i++
	for {
		i = IndexSpecial(b, i)
		switch {
		case i == len(b):
			return i, ErrMore
		case b[i] == '"':
			return i + 1, nil
		case b[i] == '\\':
			if i, err = scanEscape(b, i); err != nil {
				return i, err
			}
		default:
			return i, controlError(b, i)
		}
	}
}

func controlError(b []byte, i int) error {
	return &Error{i, fmt.Sprintf("expected a string's characters, found the control character %#02x", b[i])}
}

// scanEscape scans the escape sequence that starts with the backslash b[i].
func scanEscape(b []byte, i int) (end int, err error) {
	if i+1 >= len(b) {
		return i, ErrMore
	}
	if b[i+1] != 'u' {
		if unescaped[b[i+1]] == 0 {
			return i, &Error{i, fmt.Sprintf("expected an escape sequence, found %q", b[i:i+2])}
		}
		return i + 2, nil
	}
	_, err = codeUnit(b, i)
	return i + 6, err
}

// unescaped holds the character for each letter after a backslash.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// codeUnit returns the number of the escape \uXXXX at b[i].
func codeUnit(b []byte, i int) (rune, error) {
	digits := b[min(i+2, len(b)):min(i+6, len(b))]
	v, ok := Hex4(digits)
	if ok {
		return v, nil
	}
	for k, c := range digits {
		if hexDigit[c] == 0 {
			return 0, &Error{i + 2 + k, fmt.Sprintf("expected four hexadecimal digits after \\u, found %q", c)}
		}
	}
	return 0, ErrMore
}

// Hex4 returns the number that the first four bytes of b write in hexadecimal.
// ok is false when b is shorter or has other bytes there.
func Hex4(b []byte) (v rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		d := hexDigit[c]
		if d == 0 {
			return 0, false
		}
		v = v<<4 | rune(d-1)
	}
	return v, true
}

// hexDigit holds for each hexadecimal digit its value plus one.
var hexDigit = func() (t [256]byte) {
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i) + 1
	}
	for i, c := range "ABCDEF" {
		t[c] = byte(i) + 11
	}
	return t
}()

// scanNumber scans the number that starts at b[i]. It returns ErrMore when the
// number reaches the end of b, because more digits may follow there.
func scanNumber(b []byte, i int) (end int, err error) {
	end, err = number(b, i)
	if err == nil && end == len(b) {
		err = ErrMore
	}
	return end, err
}

// IsNumber reports whether text is one number and nothing else:
//
//	"-"? ("0" | [1-9][0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
func IsNumber(text []byte) bool {
	end, err := number(text, 0)
	return err == nil && end == len(text)
}

// number is scanNumber for a b that holds all there is.
func number(b []byte, i int) (end int, err error) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return i, ErrMore
	case b[i] == '0':
		i++
	default:
		if i, err = scanDigits(b, i); err != nil {
			return i, err
		}
	}
	if i < len(b) && b[i] == '.' {
		if i, err = scanDigits(b, i+1); err != nil {
			return i, err
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i, err = scanDigits(b, i); err != nil {
			return i, err
		}
	}
	return i, nil
}

// integer returns the end of the number at b[i] if that is a sequence of digits with more text behind it; 0 for all other text.
func integer(b []byte, i int) int {
	end := i
	for end < len(b) && '0' <= b[end] && b[end] <= '9' {
		end++
	}
	if end == i || b[i] == '0' || end == len(b) || b[end] == '.' || b[end]|0x20 == 'e' {
		return 0
	}
	return end
}

// scanDigits scans one or more digits.
func scanDigits(b []byte, i int) (end int, err error) {
	if i >= len(b) || b[i] < '0' || b[i] > '9' {
		return i, expected("a digit", b, i)
	}
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i, nil
}

// Literal scans null, true and false.
func Literal(b []byte, i int) (end int, err error) {
	if i >= len(b) {
		return i, ErrMore
	}
	lit := ""
	switch b[i] {
	case 'n':
		lit = "null"
	case 't':
		lit = "true"
	case 'f':
		lit = "false"
	default:
		return i, expected("a value", b, i)
	}
	return scanWord(b, i, lit)
}

// scanWord scans the word at b[i].
func scanWord(b []byte, i int, word string) (end int, err error) {
	for k := range len(word) {
		if i+k >= len(b) || b[i+k] != word[k] {
			return i, expected(word, b, i+k)
		}
	}
	return i + len(word), nil
}

// scanScalar scans a string, a number or a literal.
func scanScalar(b []byte, i int, python bool) (end int, err error) {
	switch {
	case i >= len(b):
		return i, ErrMore
	case b[i] == '"':
		return String(b, i)
	case python && (b[i] == 'N' || b[i] == 'I' || b[i] == '-' && i+1 < len(b) && b[i+1] == 'I'):
		return scanNonFinite(b, i)
	case b[i] == '-' || '0' <= b[i] && b[i] <= '9':
		return scanNumber(b, i)
	}
	return Literal(b, i)
}

// scanNonFinite scans NaN, Infinity and -Infinity.
func scanNonFinite(b []byte, i int) (end int, err error) {
	if b[i] == '-' {
		i++
	}
	if b[i] == 'N' {
		return scanWord(b, i, "NaN")
	}
	return scanWord(b, i, "Infinity")
}

// Value scans any value that starts at b[i]. spaced reports whether it has
// white space between its tokens.
func Value(b []byte, i int) (end int, spaced bool, err error) { return scanValue(b, i, false) }

// PythonValue is Value that takes NaN, Infinity and -Infinity too, as Python
// writes them.
func PythonValue(b []byte, i int) (end int, spaced bool, err error) { return scanValue(b, i, true) }

// scanValue does not recurse: the kinds of the open containers are bits of a
// fixed stack.
func scanValue(b []byte, i int, python bool) (end int, spaced bool, err error) {
	var object [maxDepth/64 + 1]uint64 // bit d: container d is an object
	depth := 0
	space := func(i int) int {
		j := SkipSpace(b, i)
		spaced = spaced || j > i
		return j
	}
	key := func(i int) (int, error) {
		if i >= len(b) || b[i] != '"' {
			return i, expected("a member name", b, i)
		}
		i, err := String(b, i)
		if err != nil {
			return i, err
		}
		if i = space(i); i >= len(b) || b[i] != ':' {
			return i, expected("':'", b, i)
		}
		return space(i + 1), nil
	}
	for {
		// b[i] is where a value has to start.
		if i >= len(b) {
			return i, spaced, ErrMore
		}
		if c := b[i]; c == '{' || c == '[' {
			if depth++; depth > maxDepth {
				return i, spaced, &Error{i, fmt.Sprintf("arrays and objects nest deeper than %d", maxDepth)}
			}
			bit := uint64(1) << (depth % 64)
			object[depth/64] &^= bit
			i = space(i + 1)
			if i < len(b) && b[i] == c+2 { // '[' + 2 = ']', '{' + 2 = '}'
				i++
				depth--
			} else {
				if c == '{' {
					object[depth/64] |= bit
					if i, err = key(i); err != nil {
						return i, spaced, err
					}
				}
				continue
			}
		} else if end := integer(b, i); end > 0 {
			i = end
		} else if i, err = scanScalar(b, i, python); err != nil {
			return i, spaced, err
		}
		// A value has ended: close the arrays and objects that end with it.
		for {
			if depth == 0 {
				return i, spaced, nil
			}
			i = space(i)
			inObject := object[depth/64]>>(depth%64)&1 == 1
			switch {
			case i < len(b) && b[i] == ',':
				i = space(i + 1)
				if inObject {
					if i, err = key(i); err != nil {
						return i, spaced, err
					}
				}
			case i < len(b) && (inObject && b[i] == '}' || !inObject && b[i] == ']'):
				i++
				depth--
				continue
			case inObject:
				return i, spaced, expected("',' or '}'", b, i)
			default:
				return i, spaced, expected("',' or ']'", b, i)
			}
			break
		}
	}
}

// AppendCompact appends the valid JSON text v without the white space between
// its tokens.
func AppendCompact(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		switch c := v[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end, err := String(v, i)
			if err != nil {
				return append(dst, v[i:]...) // not valid: as it is
			}
			dst = append(dst, v[i:end]...)
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// NextElem goes to the next element of an array; i is after the '[' or after an
// element. more is false, and next after the ']', when there is none.
func NextElem(b []byte, i int, first bool) (next int, more bool, err error) {
	i = SkipSpace(b, i)
	switch {
	case i >= len(b):
		return i, false, ErrMore
	case b[i] == ']':
		return i + 1, false, nil
	case first:
		return i, true, nil
	case b[i] != ',':
		return i, false, expected("',' or ']'", b, i)
	}
	i = SkipSpace(b, i+1)
	if i >= len(b) {
		return i, false, ErrMore
	}
	return i, true, nil
}

// Elements calls do with the position of each element of the array that starts at b[i]. do returns the position
// after the element. Elements returns the position after the array, or the first error.
func Elements(b []byte, i int, do func(at int) (end int, err error)) (end int, err error) {
	i++
	for first := true; ; first = false {
		at, more, err := NextElem(b, i, first)
		if err != nil || !more {
			return at, err
		}
		if i, err = do(at); err != nil {
			return i, err
		}
	}
}
