package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// strip is the normalizer Strip: it removes white space from the ends of the text.
type strip struct {
	props       *unidata.Props
	left, right bool
}

func readStrip(n *node) (normalizer, error) {
	left, err := n.wantBool("strip_left")
	if err != nil {
		return nil, err
	}
	right, err := n.wantBool("strip_right")
	if err != nil {
		return nil, err
	}
	return strip{unidata.Load(), left, right}, nil
}

func (t strip) white(r rune) bool { return t.props.Is(unidata.White, r) }

func (t strip) normalize(s string, _ int) string {
	if t.left {
		s = strings.TrimLeftFunc(s, t.white)
	}
	if t.right {
		s = strings.TrimRightFunc(s, t.white)
	}
	return s
}

func (t strip) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && t.left && t.white(r)
}

// filter removes characters. It is the normalizer StripAccents.
type filter struct {
	drop func(r rune) bool
}

func newStripAccents() filter {
	props := unidata.Load()
	return filter{func(r rune) bool { return props.Is(unidata.Combining, r) }}
}

func (f filter) normalize(s string, _ int) string {
	return strings.Map(func(r rune) rune {
		if f.drop(r) {
			return -1
		}
		return r
	}, s)
}

func (f filter) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && f.drop(r)
}
