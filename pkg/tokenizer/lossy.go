package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// validUTF8 replaces each maximal part of an ill-formed sequence in s by U+FFFD (The
// Unicode Standard, 3.9; Python's errors="replace"). It returns s itself if s is valid.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			n = illFormed(s[i:])
			out.WriteRune(utf8.RuneError)
		} else {
			out.WriteString(s[i : i+n])
		}
		i += n
	}
	return out.String()
}

// illFormed returns the length of the maximal part of an ill-formed sequence at the start
// of s: the longest prefix of some well-formed sequence, or 1.
func illFormed(s string) int {
	// The second byte of some leads has a range of its own: no overlong
	// forms, no surrogates, nothing above U+10FFFF.
	lo, hi, size := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case 0xC2 <= c && c <= 0xDF:
		size = 2
	case 0xE0 <= c && c <= 0xEF:
		size = 3
		switch c {
		case 0xE0:
			lo = 0xA0
		case 0xED:
			hi = 0x9F
		}
	case 0xF0 <= c && c <= 0xF4:
		size = 4
		switch c {
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F
		}
	default:
		return 1
	}
	n := 1
	for n < size && n < len(s) && lo <= s[n] && s[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}
