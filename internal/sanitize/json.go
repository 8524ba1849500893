package sanitize

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON returns JSON text without characters that a terminal would obey or a reader would not see:
// control characters, marks that change the direction of text, line and paragraph separators and
// byte order marks are written as \u009b. A decoder reads the same values, because JSON has such
// characters within strings only. Text that has none of them is returned as it is; otherwise
// the result is a copy.
func JSON(text []byte) []byte {
	i := hiddenAt(text)
	if i < 0 {
		return text
	}
	out := bytes.Clone(text[:i])
	for i < len(text) {
		r, n := utf8.DecodeRune(text[i:])
		if isHidden(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return out
}

// NewJSONWriter returns a writer that writes to w what JSON returns. Each Write must hold whole
// characters, as the Writes of an encoder do.
func NewJSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ w io.Writer }

// Write implements io.Writer.
func (j jsonWriter) Write(text []byte) (int, error) {
	if _, err := j.w.Write(JSON(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// hiddenAt returns the index of the first character of text that JSON escapes; -1 if there is none.
func hiddenAt(text []byte) int {
	for i := 0; i < len(text); {
		if text[i] < 0x7F {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if isHidden(r) {
			return i
		}
		i += n
	}
	return -1
}

// isHidden reports whether JSON escapes r. Encoders escape the control characters below U+0020, and
// line feeds stand between values.
func isHidden(r rune) bool {
	switch {
	case r >= 0x7F && r <= 0x9F, // DEL and C1
		r == 0x061C, r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, // directions
		r == 0x2028, r == 0x2029, r == 0xFEFF:
		return true
	}
	return false
}
