package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// nmt is the normalizer Nmt: it removes control characters and replaces white space by
// blanks.
type nmt struct{}

func (nmt) normalize(s string, _ int) string { return strings.Map(nmtRune, s) }

func (nmt) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && nmtRune(r) < 0
}

func nmtRune(r rune) rune {
	switch {
	case r >= 0x01 && r <= 0x08, r == 0x0B, r >= 0x0E && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return -1
	case r == '\t', r == '\n', r == 0x0C, r == '\r',
		r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' '
	}
	return r
}
