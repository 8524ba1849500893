package tokenizer

import "strings"

// A blankNormalizer does what the normalizers Prepend and Replace do that write
// blanks as wordMark, but the other way round: it writes wordMark as a blank.
// Nothing is lost, since what they write has no blanks, and most text stays as
// it is. The model must know; see bpe.useBlanks.
type blankNormalizer struct {
	prefix bool // a blank in front
}

func (b blankNormalizer) normalize(s string, _ int) string {
	s = strings.ReplaceAll(s, string(wordMark), " ")
	if b.prefix && s != "" {
		s = " " + s
	}
	return s
}

// asBlankNormalizer returns what can stand for a normalizer and a pre-tokenizer;
// ok is false if they do something else.
func asBlankNormalizer(n normalizer, p preTokenizer) (b blankNormalizer, ok bool) {
	if s, is := p.(split); is && s.find == matcher(literal(" ")) {
		p = nil // there are no blanks to cut at
	}
	if all, is := n.(normalizerSequence); is && len(all) == 2 && all[0] == normalizer(prepend(string(wordMark))) {
		b.prefix = true
		n = all[1]
	}
	r, is := n.(*replace)
	return b, is && p == nil && r.literal == " " && r.content == string(wordMark)
}

// useBlanks makes the model take a blank for wordMark.
func (b *bpe) useBlanks() { b.mark = ' ' }

// withBlanks is a token as it is in text with blanks for wordMark; ok is false
// if no text is that.
func withBlanks(token string) (text string, ok bool) {
	return strings.ReplaceAll(token, string(wordMark), " "), !strings.Contains(token, " ")
}
