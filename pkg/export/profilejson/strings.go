package profilejson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// An arena holds the decoded strings of one request. buf[:n] is in use.
//
// It never grows while a request is decoded: no string decodes to more bytes
// than it takes in the file, so len(buf) ≥ the bytes of the request is enough.
type arena struct {
	buf []byte
	n   int
}

// reset empties the arena and makes room for the strings of size bytes of
// JSON.
func (a *arena) reset(size int) {
	a.n = 0
	if len(a.buf) < size {
		a.buf = make([]byte, size)
	}
}

// text decodes the string whose opening quote is b[i]. data points into b when
// the string has no escapes, else into the arena.
func (a *arena) text(b []byte, i int) (data []byte, end int, err error) {
	start := i + 1
	i = indexSpecial(b, start)
	if i == len(b) {
		return nil, i, errMore
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
			return dst[:n:n], i + 1, nil
		case '\\':
			if i+1 >= len(b) {
				return nil, i, errMore
			}
			if c := unescaped[b[i+1]]; c != 0 {
				dst[n] = c
				n++
				i += 2
				break
			}
			if b[i+1] != 'u' {
				return nil, i, &scanError{i, fmt.Sprintf("expected an escape sequence, found %q", b[i:i+2])}
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
			m := specials(w)
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
			j := indexSpecial(b, i)
			n += copy(dst[n:], b[i:j])
			i = j
		}
		if i >= len(b) {
			return nil, i, errMore
		}
	}
}

// unicodeEscape decodes the escape \uXXXX at b[i], or the two of a surrogate
// pair. A surrogate without its other half is returned as it is.
func unicodeEscape(b []byte, i int) (r rune, end int, err error) {
	r, err = hex4(b, i)
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
		return 0, i, errMore
	}
	if b[i] != '\\' || b[i+1] != 'u' {
		return r, i, nil
	}
	low, err := hex4(b, i)
	if err != nil {
		return 0, i, err
	}
	if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
		return pair, i + 6, nil
	}
	return r, i, nil
}

// putRune encodes r as UTF-8, and a surrogate as the three bytes that UTF-8
// would use if it allowed them.
func putRune(dst []byte, r rune) int {
	if 0xD800 <= r && r < 0xE000 {
		dst[0] = 0xE0 | byte(r>>12)
		dst[1] = 0x80 | byte(r>>6)&0x3F
		dst[2] = 0x80 | byte(r)&0x3F
		return 3
	}
	return utf8.EncodeRune(dst, r)
}

// names keeps one Go string per member name, so that the thousands of
// responses of a run share it. It is a direct-mapped cache: a collision costs
// an allocation, never more memory.
type names struct {
	slots [64]string
}

// intern returns b as a string.
func (n *names) intern(b []byte) string {
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
