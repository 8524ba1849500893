package profilejson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// The functions of this file work on bytes in memory and never fetch more:
// b is what there is, i the position, and the result is the position after
// what was scanned. Errors are errMore when b ends too soon (fetch more and
// start over) or *scanError when no continuation could be right.

var errMore = errors.New("more input needed")

// A scanError is a violation of the grammar at b[at].
type scanError struct {
	at  int
	msg string
}

func (e *scanError) Error() string { return e.msg }

// expected returns the error for b[i] not being what the grammar asks for.
func expected(what string, b []byte, i int) error {
	if i >= len(b) {
		return errMore
	}
	return &scanError{i, fmt.Sprintf("expected %s, found %q", what, b[i])}
}

// maxDepth bounds how deep arrays and objects may nest within one value.
// perf_analyzer writes no deeper than 2.
const maxDepth = 512

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

const (
	lsb = 0x0101010101010101
	msb = 0x8080808080808080
)

// specials sets the highest bit of bytes of w that are '"', '\\' or below
// 0x20. Each of the three terms is exact up to its first hit (a borrow spreads
// only upwards from a true one), so the lowest bit set is a true hit.
func specials(w uint64) uint64 {
	q := w ^ lsb*'"'
	s := w ^ lsb*'\\'
	return ((q-lsb)&^q | (s-lsb)&^s | (w-lsb*0x20)&^w) & msb
}

// indexSpecial returns the position at or after i of the first '"', '\\' or
// control character, or len(b).
func indexSpecial(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := specials(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// scanString scans the string whose opening quote is b[i].
func scanString(b []byte, i int) (end int, err error) {
	i++
	for {
		i = indexSpecial(b, i)
		switch {
		case i == len(b):
			return i, errMore
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
	return &scanError{i, fmt.Sprintf("expected a string's characters, found the control character %#02x", b[i])}
}

// scanEscape scans the escape sequence that starts with the backslash b[i].
func scanEscape(b []byte, i int) (end int, err error) {
	if i+1 >= len(b) {
		return i, errMore
	}
	if b[i+1] != 'u' {
		if unescaped[b[i+1]] == 0 {
			return i, &scanError{i, fmt.Sprintf("expected an escape sequence, found %q", b[i:i+2])}
		}
		return i + 2, nil
	}
	_, err = hex4(b, i)
	return i + 6, err
}

// unescaped holds for the letter after a backslash what it stands for.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hex4 returns the number of the escape \uXXXX at b[i].
func hex4(b []byte, i int) (rune, error) {
	var v rune
	for k := i + 2; k < i+6; k++ {
		if k >= len(b) {
			return 0, errMore
		}
		c := b[k]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, &scanError{k, fmt.Sprintf("expected four hexadecimal digits after \\u, found %q", c)}
		}
		v = v<<4 | rune(c)
	}
	return v, nil
}

// scanNumber scans the number that starts at b[i]. The end of b ends no
// number, because a document does not end in one.
func scanNumber(b []byte, i int) (end int, err error) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return i, errMore
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
	if i >= len(b) {
		return i, errMore
	}
	return i, nil
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

// scanLiteral scans null, true and false.
func scanLiteral(b []byte, i int) (end int, err error) {
	if i >= len(b) {
		return i, errMore
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
	for k := range len(lit) {
		if i+k >= len(b) || b[i+k] != lit[k] {
			return i, expected(lit, b, i+k)
		}
	}
	return i + len(lit), nil
}

// scanScalar scans a string, a number or a literal.
func scanScalar(b []byte, i int) (end int, err error) {
	switch {
	case i >= len(b):
		return i, errMore
	case b[i] == '"':
		return scanString(b, i)
	case b[i] == '-' || '0' <= b[i] && b[i] <= '9':
		return scanNumber(b, i)
	}
	return scanLiteral(b, i)
}

// scanValue scans any value that starts at b[i]. spaced reports whether it has
// white space between its tokens. It does not recurse: the kinds of the open
// containers are bits of a fixed stack.
func scanValue(b []byte, i int) (end int, spaced bool, err error) {
	var object [maxDepth/64 + 1]uint64 // bit d: container d is an object
	depth := 0
	space := func(i int) int {
		j := skipSpace(b, i)
		spaced = spaced || j > i
		return j
	}
	key := func(i int) (int, error) {
		if i >= len(b) || b[i] != '"' {
			return i, expected("a member name", b, i)
		}
		i, err := scanString(b, i)
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
			return i, spaced, errMore
		}
		if c := b[i]; c == '{' || c == '[' {
			if depth++; depth > maxDepth {
				return i, spaced, &scanError{i, fmt.Sprintf("arrays and objects nest deeper than %d", maxDepth)}
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
		} else if i, err = scanScalar(b, i); err != nil {
			return i, spaced, err
		}
		// A value has ended: close what it closes.
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

// appendCompact appends the valid JSON text v without the white space between
// its tokens.
func appendCompact(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		switch c := v[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end, err := scanString(v, i)
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
