package profilejson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
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
func appendText[S []byte | string](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		e := escapes[s[i]]
		if e == 0 {
			continue
		}
		b = append(b, s[start:i]...)
		if e == 'u' {
			const hex = "0123456789ABCDEF"
			b = append(b, '\\', 'u', '0', '0', hex[s[i]>>4], hex[s[i]&15])
		} else {
			b = append(b, '\\', e)
		}
		start = i + 1
	}
	b = append(b, s[start:]...)
	return append(b, '"')
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
