package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// A Counter counts the tokens of a text that comes in chunks, as of the chunks
// of a streamed answer. What it says after each chunk is what Count says of all
// of them joined. It is not for concurrent use.
//
// It counts again only what a further chunk may still change: with most
// tokenizers the last word. With others, and in text without blanks, that is
// the whole text, each time.
type Counter struct {
	t       *Tokenizer
	settled int    // tokens of what stands before tail
	begun   bool   // something stands before tail
	tail    []byte // what may be tokenized otherwise with more behind it
	total   int
}

// NewCounter returns a Counter of an empty text.
func (t *Tokenizer) NewCounter() *Counter { return &Counter{t: t} }

// Add puts a chunk at the end of the text and returns how many tokens the text
// has gained. That is 0 when the chunk completes a token, and can be negative:
// two tokens may become one.
func (c *Counter) Add(chunk string) int {
	e := c.t.encoder()
	defer c.t.release(e)
	c.tail = append(c.tail, chunk...)
	if cut := c.t.settledPart(c.tail); cut > 0 {
		e.out = e.encode(e.out[:0], string(c.tail[:cut]), !c.begun)
		c.settled += len(e.out)
		c.begun = true
		c.tail = append(c.tail[:0], c.tail[cut:]...)
	}
	e.out = e.encode(e.out[:0], string(c.tail), !c.begun)
	before := c.total
	c.total = c.settled + len(e.out)
	return c.total - before
}

// Total is the number of tokens of the text so far.
func (c *Counter) Total() int { return c.total }

// Reset makes the text empty.
func (c *Counter) Reset() {
	*c = Counter{t: c.t, tail: c.tail[:0]}
}

// settledPart is the length of the part of text whose ids cannot change, nor
// change those of what comes after: up to the last blank that stands behind
// something else, but not behind an added token, where normalizers start anew. A
// tokenizer that this does not hold for has settles unset.
func (t *Tokenizer) settledPart(text []byte) int {
	if !t.settles {
		return 0
	}
	for i := len(text) - 1; i > 0; i-- {
		if text[i] != ' ' {
			continue
		}
		before, _ := utf8.DecodeLastRune(text[:i])
		if before == utf8.RuneError || t.added.props.Is(unidata.White, before) || t.added.ends[before] {
			continue
		}
		if b, ok := t.cutter.(*bpe); ok && (before == wordMark || b.glued[before]) {
			continue
		}
		return i
	}
	return 0
}

// findSettles finds out whether text can be cut before a blank.
func (t *Tokenizer) findSettles() bool {
	for _, a := range t.added.byID {
		if a.rstrip || strings.ContainsFunc(a.content+a.written, func(r rune) bool {
			return r == wordMark || t.added.props.Is(unidata.White, r)
		}) {
			return false
		}
	}
	blankIsMark := false
	var local func(n normalizer) bool
	local = func(n normalizer) bool {
		switch n := n.(type) {
		case nil, unicodeForm, lowercase, prepend:
			return true
		case blankNormalizer:
			blankIsMark = true
			return true
		case *replace:
			blankIsMark = blankIsMark || n.literal == " " && n.content == string(wordMark)
			return n.literal != "" && (n.literal == " " || !strings.Contains(n.literal, " "))
		case normalizerSequence:
			for _, one := range n {
				if !local(one) {
					return false
				}
			}
			return true
		}
		return false
	}
	if !local(t.normalizer) {
		return false
	}
	if t.preTokenizer == nil {
		return t.cutter != nil && blankIsMark
	}
	var cutsAtBlanks func(p preTokenizer) bool
	cutsAtBlanks = func(p preTokenizer) bool {
		switch p := p.(type) {
		case isolate:
			return true
		case *byteLevel:
			return p.words != nil
		case *metaspace:
			return p.split
		case preTokenizerSequence:
			for _, one := range p {
				if !cutsAtBlanks(one) {
					return false
				}
			}
			return true
		}
		return false
	}
	return cutsAtBlanks(t.preTokenizer) && !blankIsMark
}

// withoutPrepend is a normalizer for the rest of a text whose first part has
// been normalized.
func withoutPrepend(n normalizer) normalizer {
	switch n := n.(type) {
	case prepend:
		return nil
	case blankNormalizer:
		return blankNormalizer{}
	case normalizerSequence:
		var kept normalizerSequence
		for _, one := range n {
			if one = withoutPrepend(one); one != nil {
				kept = append(kept, one)
			}
		}
		return kept
	}
	return n
}
