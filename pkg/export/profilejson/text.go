package profilejson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// escapeInvalid escapes the bytes of b[start:] that are not UTF-8, which are in
// strings: 0x80 as \udc80, up to 0xFF as \udcff. Python reads that as the bytes
// that its error handler surrogateescape gives back, and Reader as the bytes
// themselves. Files of perf_analyzer have the bare bytes, which Python refuses.
func escapeInvalid(b []byte, start int) []byte {
	if utf8.Valid(b[start:]) {
		return b
	}
	in := bytes.Clone(b[start:])
	b = b[:start]
	for len(in) > 0 {
		r, n := utf8.DecodeRune(in)
		if r == utf8.RuneError && n == 1 {
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', 'd', 'c', hex[in[0]>>4], hex[in[0]&15])
		} else {
			b = append(b, in[:n]...)
		}
		in = in[n:]
	}
	return b
}

// appendText appends s as a JSON string as RapidJSON writes it: '"', '\\' and
// the control characters are escaped, with the short form where there is one,
// else with upper-case hexadecimal digits. '/', 0x7F and all bytes from 0x80
// on are copied, be they UTF-8 or not.
func appendText(b, s []byte) []byte {
	b = append(b, '"')
	for len(s) >= 8 {
		word := binary.LittleEndian.Uint64(s)
		b = binary.LittleEndian.AppendUint64(b, word)
		special := jsonscan.Specials(word)
		if special == 0 {
			s = s[8:]
			continue
		}
		n := bits.TrailingZeros64(special) / 8 // bytes before it
		b = appendEscape(b[:len(b)-8+n], s[n])
		s = s[n+1:]
	}
	for _, c := range s {
		if escapes[c] == 0 {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
	}
	return append(b, '"')
}

// appendEscape appends the escape of c, which needs one.
func appendEscape(b []byte, c byte) []byte {
	if e := escapes[c]; e != 'u' {
		return append(b, '\\', e)
	}
	const hex = "0123456789ABCDEF"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// escapes holds for each byte the letter after the backslash of its escape; 0 for bytes
// that need no escape.
var escapes = func() (t [256]byte) {
	for c := range 0x20 {
		t[c] = 'u'
	}
	t['"'], t['\\'] = '"', '\\'
	t['\b'], t['\f'], t['\n'], t['\r'], t['\t'] = 'b', 'f', 'n', 'r', 't'
	return t
}()

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
