package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// bertNormalizer is the normalizer BertNormalizer.
type bertNormalizer struct {
	props     *unidata.Props
	lower     lowercase
	clean     bool
	chinese   bool
	accents   bool
	lowercase bool
}

func readBertNormalizer(n *node) (normalizer, error) {
	b := bertNormalizer{props: unidata.Load(), lower: newLowercase()}
	var err error
	for _, f := range []struct {
		name string
		to   *bool
	}{{"clean_text", &b.clean}, {"handle_chinese_chars", &b.chinese}, {"lowercase", &b.lowercase}} {
		if *f.to, err = n.wantBool(f.name); err != nil {
			return nil, err
		}
	}
	// By default, accents are removed with capitals.
	b.accents, err = n.boolOr("strip_accents", b.lowercase)
	return b, err
}

func (b bertNormalizer) normalize(s string, most int) string {
	if isPlain(s) {
		if b.lowercase {
			s = b.lower.normalize(s, most)
		}
		return s
	}
	if b.clean {
		s = strings.Map(b.cleaned, s)
	}
	if b.chinese {
		s = spaceChinese(s)
	}
	if b.accents {
		s = unidata.NFD.String(s)
		s = filter{b.isAccent}.normalize(s, most)
	}
	if b.lowercase {
		s = b.lower.normalize(s, most)
	}
	return s
}

// isPlain reports whether s is printable ASCII, in which only capitals change.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (b bertNormalizer) cleaned(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return ' '
	case r == 0, r == 0xFFFD, b.props.Is(unidata.Other, r):
		return -1
	case b.props.Is(unidata.White, r):
		return ' '
	}
	return r
}

func (b bertNormalizer) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return false
	}
	if b.clean && b.cleaned(r) < 0 {
		return true
	}
	return b.accents && strings.TrimFunc(unidata.NFD.String(s[:n]), b.isAccent) == ""
}

func (b bertNormalizer) isAccent(r rune) bool { return b.props.Is(unidata.Nonspacing, r) }

// spaceChinese puts blanks around each Chinese character.
func spaceChinese(s string) string {
	at := strings.IndexFunc(s, isChinese)
	if at < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/2)
	out.WriteString(s[:at])
	for _, r := range s[at:] {
		if isChinese(r) {
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isChinese reports whether r is in a block that BERT counts as Chinese. As in the library,
// one block starts at 2B920 instead of 2B820.
func isChinese(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0x20000 && r <= 0x2A6DF,
		r >= 0x2A700 && r <= 0x2B73F, r >= 0x2B740 && r <= 0x2B81F, r >= 0x2B920 && r <= 0x2CEAF,
		r >= 0xF900 && r <= 0xFAFF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return false
}
