package sanitize

import (
	"strings"
	"unicode/utf8"
)

// Clip bounds foreign text for a message. It returns at most the first most bytes
// of s, and an ellipsis if that is not all. It does not escape: quote the result
// with %q, or pass it to [Text].
func Clip[T ~string | ~[]byte](s T, most int) string {
	if len(s) <= most {
		return string(s)
	}
	return strings.ToValidUTF8(string(Cut(s, most)), "\uFFFD") + "…"
}

// Cut bounds text that is stored. It returns at most the first most bytes of s,
// without cutting inside a character, and without a mark of the cut.
func Cut[T ~string | ~[]byte](s T, most int) T {
	if len(s) <= most {
		return s
	}
	for i := most; i > most-utf8.UTFMax && i >= 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:most]
}

// Fit bounds text for a cell of a table. It returns s in at most width characters,
// 1 or more; the last is an ellipsis where some are missing.
func Fit(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}
