package tokenizer

import "strings"

// A prependScheme selects the pieces that get a mark in front.
type prependScheme uint8

const (
	prependAlways prependScheme = iota
	prependFirst
	prependNever
)

// metaspace is the pre-tokenizer Metaspace: it writes blanks as a mark, puts a mark in
// front and cuts before each mark.
type metaspace struct {
	mark   string
	scheme prependScheme
	split  bool
}

func readMetaspace(n *node) (*metaspace, error) {
	r, err := n.wantRune("replacement")
	if err != nil {
		return nil, err
	}
	m := &metaspace{mark: string(r)}
	name, err := n.stringOr("prepend_scheme", "always")
	if err != nil {
		return nil, err
	}
	switch name {
	case "always":
	case "first":
		m.scheme = prependFirst
	case "never":
		m.scheme = prependNever
	default:
		return nil, n.member("prepend_scheme").errorf("expected always, first or never, found %s", quote(name))
	}
	prefix, err := n.boolOr("add_prefix_space", true)
	if err != nil {
		return nil, err
	}
	if !prefix {
		if m.scheme != prependNever && n.member("prepend_scheme") != nil {
			return nil, n.errorf("add_prefix_space is false but prepend_scheme is %s", name)
		}
		m.scheme = prependNever
	}
	m.split, err = n.boolOr("split", true)
	return m, err
}

func (m *metaspace) cut(dst []piece, p piece) []piece {
	text := strings.ReplaceAll(p.text, " ", m.mark)
	prepends := m.scheme == prependAlways || m.scheme == prependFirst && p.start
	if prepends && !strings.HasPrefix(text, m.mark) {
		text = m.mark + text
	}
	if !m.split {
		return append(dst, piece{text, p.start})
	}
	begin := 0
	for i := 0; i < len(text); {
		at := strings.Index(text[i:], m.mark)
		if at < 0 {
			break
		}
		i += at
		if i > begin {
			dst = append(dst, piece{text[begin:i], p.start && begin == 0})
			begin = i
		}
		i += len(m.mark)
	}
	return append(dst, piece{text[begin:], p.start && begin == 0})
}

// A blankNormalizer stands in for the normalizers Prepend and Replace that write blanks as
// wordMark. It does the opposite and writes wordMark as a blank, which leaves most text
// unchanged. No information is lost, because the output of the others has no blanks. The
// model must expect this; see bpe.useBlanks.
type blankNormalizer struct {
	prefix bool // put a blank before the text
}

func (b blankNormalizer) normalize(s string, _ int) string {
	s = strings.ReplaceAll(s, string(wordMark), " ")
	if b.prefix && s != "" {
		s = " " + s
	}
	return s
}

// asBlankNormalizer returns the replacement of a normalizer and a pre-tokenizer. ok is
// false if they do something else.
func asBlankNormalizer(n normalizer, p preTokenizer) (b blankNormalizer, ok bool) {
	if s, is := p.(split); is && s.find == matcher(literal(" ")) {
		p = nil // the normalized text has no blanks to cut at
	}
	if all, is := n.(normalizerSequence); is && len(all) == 2 && all[0] == normalizer(prepend(string(wordMark))) {
		b.prefix = true
		n = all[1]
	}
	r, is := n.(*replace)
	return b, is && p == nil && r.literal == " " && r.content == string(wordMark)
}

// useBlanks makes the model treat a blank as wordMark.
func (b *bpe) useBlanks() { b.mark = ' ' }

// withBlanks returns a token with blanks instead of wordMark. ok is false if no text can
// contain it.
func withBlanks(token string) (text string, ok bool) {
	return strings.ReplaceAll(token, string(wordMark), " "), !strings.Contains(token, " ")
}
