package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// An Arena holds decoded strings. buf[:n] is in use.
//
// It never grows while it is in use: no string decodes to more bytes than it
// takes in the file, so that much room is enough. Reset makes it.
type Arena struct {
	buf []byte
	n   int

	envelope Envelope
}

// Reset empties the arena and makes room for the strings of size bytes of
// JSON.
func (a *Arena) Reset(size int) {
	a.n = 0
	if len(a.buf) < size {
		a.buf = make([]byte, size)
	}
}

// Text decodes the string whose opening quote is b[i]. data points into b when
// the string has no escapes, else into the arena.
func (a *Arena) Text(b []byte, i int) (data []byte, end int, err error) {
	start := i + 1
	if back, ok := a.envelope.Open(b, start); ok {
		e, dst := &a.envelope, a.buf[a.n:]
		n := copy(dst, e.FrontContent)
		n += copy(dst[n:], b[start+len(e.Front):back])
		n += copy(dst[n:], e.BackContent)
		a.n += n
		return dst[:n:n], back + len(e.Back), nil
	}
	i = IndexSpecial(b, start)
	if i == len(b) {
		return nil, i, ErrMore
	}
	if b[i] == '"' {
		return b[start:i:i], i + 1, nil
	}
	dst := a.buf[a.n:]
	n := copy(dst, b[start:i])
	for {
		// b[i] is special.
		switch b[i] {
		case '"':
			a.n += n
			a.envelope.Learn(b[start : i+1])
			return dst[:n:n], i + 1, nil
		case '\\':
			if i+1 >= len(b) {
				return nil, i, ErrMore
			}
			if c := unescaped[b[i+1]]; c != 0 {
				dst[n] = c
				n++
				i += 2
				break
			}
			if b[i+1] != 'u' {
				return nil, i, &Error{i, fmt.Sprintf("expected an escape sequence, found %q", b[i:i+2])}
			}
			var r rune
			if r, i, err = unicodeEscape(b, i); err != nil {
				return nil, i, err
			}
			n += putRune(dst[n:], r)
		default:
			return nil, i, controlError(b, i)
		}
		// Copy up to the next special character, eight bytes at a time: in
		// the answers of an OpenAI server one comes every six bytes.
		for i+8 <= len(b) && n+8 <= len(dst) {
			w := binary.LittleEndian.Uint64(b[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			m := Specials(w)
			if m == 0 {
				i += 8
				n += 8
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			i += k
			n += k
			break
		}
		if i+8 > len(b) || n+8 > len(dst) {
			j := IndexSpecial(b, i)
			n += copy(dst[n:], b[i:j])
			i = j
		}
		if i >= len(b) {
			return nil, i, ErrMore
		}
	}
}

// Compact copies the valid JSON text v into the arena without the white space
// between its tokens.
func (a *Arena) Compact(v []byte) []byte {
	at := a.n
	out := AppendCompact(a.buf[:at], v)
	a.n = len(out)
	return out[at:len(out):len(out)]
}

// Key goes to the next member of an object and past its name and colon. more
// is false, and next after the '}', when there is none.
func (a *Arena) Key(b []byte, i int, first bool) (name []byte, next int, more bool, err error) {
	i = SkipSpace(b, i)
	switch {
	case i >= len(b):
		return nil, i, false, ErrMore
	case b[i] == '}':
		return nil, i + 1, false, nil
	case first:
	case b[i] != ',':
		return nil, i, false, expected("',' or '}'", b, i)
	default:
		i = SkipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return nil, i, false, expected("a member name", b, i)
	}
	name, i, err = a.Text(b, i)
	if err != nil {
		return nil, i, false, err
	}
	if i < len(b) && b[i] != ':' {
		i = SkipSpace(b, i)
	}
	if i >= len(b) || b[i] != ':' {
		return nil, i, false, expected("':'", b, i)
	}
	i = SkipSpace(b, i+1)
	if i >= len(b) {
		return nil, i, false, ErrMore
	}
	return name, i, true, nil
}

// unicodeEscape decodes the escape \uXXXX at b[i], or the two of a surrogate
// pair. A surrogate without its other half is returned as it is.
func unicodeEscape(b []byte, i int) (r rune, end int, err error) {
	r, err = codeUnit(b, i)
	if err != nil {
		return 0, i, err
	}
	i += 6
	if r < 0xD800 || r >= 0xDC00 {
		return r, i, nil
	}
	// A high half: is the low one next?
	if i+1 >= len(b) {
		if i < len(b) && b[i] != '\\' {
			return r, i, nil
		}
		return 0, i, ErrMore
	}
	if b[i] != '\\' || b[i+1] != 'u' {
		return r, i, nil
	}
	low, err := codeUnit(b, i)
	if err != nil {
		return 0, i, err
	}
	if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
		return pair, i + 6, nil
	}
	return r, i, nil
}

// Unescape decodes the escape sequence at the backslash raw[i] of a valid string
// body, both halves of a surrogate pair at once. A half alone is returned as it is.
func Unescape(raw []byte, i int) (r rune, end int) {
	if c := unescaped[raw[i+1]]; c != 0 {
		return rune(c), i + 2
	}
	r, end, err := unicodeEscape(raw, i)
	if err != nil { // a high half at the end of raw
		r, _ = Hex4(raw[i+2:])
		end = i + 6
	}
	return r, end
}

// putRune encodes r as UTF-8, and a surrogate in the three bytes that UTF-8 forbids. A
// low surrogate that means a byte from 0x80 to 0xFF, as in Python's error handler
// surrogateescape, becomes this byte.
func putRune(dst []byte, r rune) int {
	if 0xDC80 <= r && r <= 0xDCFF {
		dst[0] = byte(r)
		return 1
	}
	if 0xD800 <= r && r < 0xE000 {
		dst[0] = 0xE0 | byte(r>>12)
		dst[1] = 0x80 | byte(r>>6)&0x3F
		dst[2] = 0x80 | byte(r)&0x3F
		return 3
	}
	return utf8.EncodeRune(dst, r)
}

// Names keeps one Go string per member name, so that the thousands of
// responses of a run share it. It is a direct-mapped cache: a collision costs
// an allocation, never more memory.
type Names struct {
	slots [64]string
}

// Intern returns b as a string.
func (n *Names) Intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	h := uint(len(b))*31 + uint(b[0])*7 + uint(b[len(b)-1]) + uint(b[len(b)/2])*3
	s := &n.slots[h%uint(len(n.slots))]
	if *s != string(b) {
		if len(b) > 256 {
			return string(b)
		}
		*s = string(b)
	}
	return *s
}

// DecodeText returns the content of the valid JSON string v in new memory.
func DecodeText(v []byte) []byte {
	a := Arena{buf: make([]byte, len(v))}
	data, _, err := a.Text(v, 0)
	if err != nil {
		return nil
	}
	return append([]byte{}, data...)
}
