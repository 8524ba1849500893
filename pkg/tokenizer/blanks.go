package tokenizer

import "strings"

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
