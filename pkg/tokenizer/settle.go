package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// A settler finds positions where a growing text can be cut: the ids before the cut are
// final, and the text after it has the same ids with or without the text before. A nil
// settler cuts nowhere.
//
// There are two kinds of positions. The first is a blank after a character that is not
// white space, if normalizer and pre-tokenizer look only at single characters and a piece
// ends there. The second is a position that no merge crosses, if there is no
// pre-tokenizer and the normalizer only writes blanks as marks.
type settler struct {
	added *addedTokens
	// addedJoins holds the pairs of characters within added tokens. singleWord holds
	// the first characters of tokens that depend on the character before.
	addedJoins *joinTable
	singleWord map[rune]bool
	// common restricts cuts to positions after characters for which isCommon is true.
	common bool
	// cutter is set if only the model cuts pieces.
	cutter *bpe
}

// settledPart returns the length of the prefix of text whose ids are final.
func (s *settler) settledPart(text []byte) int {
	if s == nil {
		return 0
	}
	for i := len(text) - 1; i > 0; i-- {
		if text[i] != ' ' && (s.cutter == nil || !s.cutter.anywhere || !utf8.RuneStart(text[i])) {
			continue
		}
		before, _ := utf8.DecodeLastRune(text[:i])
		after, _ := utf8.DecodeRune(text[i:])
		if s.cuts(before, after) {
			return i
		}
	}
	return 0
}

// cuts reports whether text can be cut between two characters. An incomplete character is
// U+FFFD.
func (s *settler) cuts(before, after rune) bool {
	switch {
	case before == utf8.RuneError || after == utf8.RuneError,
		s.added.props.Is(unidata.White, before) || after != ' ' && s.added.props.Is(unidata.White, after),
		s.added.ends[before] || s.singleWord[after] || s.addedJoins.has(before, after),
		s.common && !isCommon(before):
		return false
	case s.cutter != nil:
		return before != wordMark && after != wordMark && !s.cutter.joined.has(before, after)
	}
	return true
}

// isCommon reports whether r is a visible ASCII character or in the main block of a
// script. Every normalizer turns such a character into something that is not white space,
// and nothing combines it with a following blank.
func isCommon(r rune) bool {
	for _, part := range [][2]rune{
		{'!', '~'},
		{0xC0, 0x24F},
		{0x388, 0x481},
		{0x48A, 0x52F},
		{0x5D0, 0x5EA},
		{0x620, 0x64A},
		{0x3041, 0x3096},
		{0x30A1, 0x30FA},
		{0x4E00, 0x9FFF},
		{0xAC00, 0xD7A3},
	} {
		if part[0] <= r && r <= part[1] {
			return true
		}
	}
	return false
}

// newSettler returns the settler of a tokenizer, nil if text cannot be cut.
func newSettler(t *Tokenizer) *settler {
	s := &settler{added: t.added, singleWord: map[rune]bool{}}
	var texts [][2]string
	asWritten := t.normalizer == nil || onlyMarks(t.normalizer)
	for _, a := range t.added.byID {
		// Otherwise the text may spell a normalized token in several ways.
		if a.normalized && !asWritten && strings.ContainsFunc(a.written, func(r rune) bool { return r == wordMark || t.added.props.Is(unidata.White, r) }) {
			return nil
		}
		texts = append(texts, [2]string{a.content, ""}, [2]string{a.written, ""})
		if a.singleWord {
			first, _ := utf8.DecodeRuneInString(a.content)
			s.singleWord[first], s.singleWord[markAsBlank(first)] = true, true
		}
	}
	s.addedJoins = newJoinTable(texts)
	local, common, marks := localNormalizer(t.normalizer)
	if s.common = common; !local {
		return nil
	}
	if t.preTokenizer == nil {
		b, ok := t.cutter.(*bpe)
		if s.cutter = b; !ok || !onlyMarks(t.normalizer) {
			return nil
		}
		return s
	}
	if local, cuts := localPreTokenizer(t.preTokenizer, marks); !local || !cuts {
		return nil
	}
	return s
}

// localNormalizer reports whether a normalizer looks only at single characters (local),
// whether that holds only after common characters, and whether it writes blanks as marks.
func localNormalizer(n normalizer) (local, common, marks bool) {
	switch n := n.(type) {
	case nil, unicodeForm, lowercase, prepend:
		return true, false, false
	case bertNormalizer, *precompiled, filter, nmt:
		return true, true, false
	case strip: // of a text that ends there in what is not white
		return true, true, false
	case blankNormalizer:
		return true, false, true
	case *replace:
		if n.blanks {
			return true, true, n.content == string(wordMark)
		}
		return n.literal != "" && (n.literal == " " || !strings.Contains(n.literal, " ")), false,
			n.literal == " " && n.content == string(wordMark)
	case normalizerSequence:
		local = true
		for _, one := range n {
			l, c, m := localNormalizer(one)
			local, common, marks = local && l, common || c, marks || m
		}
		return local, common, marks
	}
	return false, false, false
}

// onlyMarks reports whether a normalizer only writes blanks as marks.
func onlyMarks(n normalizer) bool {
	switch n := n.(type) {
	case prepend, blankNormalizer:
		return true
	case *replace:
		return n.literal == " " && n.content == string(wordMark)
	case normalizerSequence:
		for _, one := range n {
			if !onlyMarks(one) {
				return false
			}
		}
		return len(n) > 0
	}
	return false
}

// localPreTokenizer reports whether a pre-tokenizer never looks across a blank that starts
// a piece, and whether a piece starts at each such blank.
func localPreTokenizer(p preTokenizer, marks bool) (local, cuts bool) {
	switch p := p.(type) {
	case isolate:
		return true, p.skip == nil && !marks // else it takes out single things
	case *byteLevel:
		return true, p.words != nil && !marks
	case *metaspace:
		return true, p.split && (!marks || p.mark == string(wordMark))
	case bertWords:
		return true, !marks
	case split:
		return p.local, p.cutsBlanks && !marks
	case preTokenizerSequence:
		local = true
		for _, one := range p {
			l, c := localPreTokenizer(one, marks)
			local, cuts = local && l, cuts || c
		}
		return local, cuts
	}
	return false, false
}

// withoutStart returns the normalizer for the text after a cut: without the steps that
// concern the start of a text.
func withoutStart(n normalizer) normalizer {
	switch n := n.(type) {
	case prepend:
		return nil
	case blankNormalizer:
		return blankNormalizer{}
	case strip:
		n.left = false
		return n
	case normalizerSequence:
		var kept normalizerSequence
		for _, one := range n {
			if one = withoutStart(one); one != nil {
				kept = append(kept, one)
			}
		}
		return kept
	}
	return n
}
