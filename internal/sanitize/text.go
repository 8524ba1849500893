package sanitize

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Text returns s as one line that is safe to print. A safe s stays unchanged.
func Text(s string) string {
	i := unsafeAt(s, false)
	if i < 0 {
		return s
	}
	return string(appendSafe([]byte(s[:i]), s[i:], false))
}

// unsafeAt returns the index of the first byte of s that must be escaped; -1 if
// there is none. If lines is true, line feeds and tabs are safe.
func unsafeAt(s string, lines bool) int {
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7F {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isSafe(r, n, lines) {
			return i
		}
		i += n
	}
	return -1
}

// appendSafe appends s to dst with escapes.
func appendSafe(dst []byte, s string, lines bool) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if isSafe(r, n, lines) {
			dst = append(dst, s[:n]...)
		} else {
			q := strconv.QuoteToASCII(s[:n])
			dst = append(dst, q[1:len(q)-1]...)
		}
		s = s[n:]
	}
	return dst
}

// isSafe reports whether the character r of n bytes can be printed unchanged.
func isSafe(r rune, n int, lines bool) bool {
	if lines && (r == '\n' || r == '\t') {
		return true
	}
	return unicode.IsPrint(r) && (r != utf8.RuneError || n > 1)
}
