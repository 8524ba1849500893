package sanitize

import (
	"strconv"
	"strings"
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

// isSafe reports whether the character r of n bytes can be printed as it is.
func isSafe(r rune, n int, lines bool) bool {
	if lines && (r == '\n' || r == '\t') {
		return true
	}
	return unicode.IsPrint(r) && (r != utf8.RuneError || n > 1)
}

// Clip shortens s to at most most bytes, and appends an ellipsis if it cut
// something. It does not escape: quote the result with %q, or pass it to [Text].
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.ToValidUTF8(s[:most], "\uFFFD") + "…"
}

// Cut returns at most the first most bytes of s, and does not cut inside a
// character. It neither marks the cut nor escapes.
func Cut[T ~string | ~[]byte](s T, most int) T {
	if len(s) <= most {
		return s
	}
	for i := most; i > most-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:most]
}
