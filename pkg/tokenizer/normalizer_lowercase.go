package tokenizer

import (
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// lowercase is the normalizer Lowercase. It maps each character independently, so there is
// no final sigma.
type lowercase struct{ props *unidata.Props }

func newLowercase() lowercase { return lowercase{unidata.Load()} }

func (l lowercase) normalize(s string, _ int) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)+8), s[:i]...)
	for _, r := range s[i:] {
		out = l.props.AppendLower(out, r)
	}
	return string(out)
}
