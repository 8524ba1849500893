package tokenizer

import (
	"fmt"
	"strings"
)

// replace is the normalizer and the decoder Replace: matches of a pattern give
// way to a text, in which nothing is special.
type replace struct {
	find    matcher
	literal string // the pattern, if it is no regular expression
	content string
	blanks  bool // the pattern is the regular expression for several blanks

	file   string   // of the description
	failed *failure // is told of a text that grows too much
}

// Bounds of a text that a Replace makes longer. Several in a row could otherwise make
// gigabytes of a line. Writing blanks as ▁, which real tokenizers do, makes at most
// three bytes of one.
const (
	maxReplaced = 512 << 20 // bytes of the result
	freeGrowth  = 16 << 20  // bytes up to which a result may be any multiple of the text
	maxGrowth   = 3         // times the text, beyond that
)

// fits reports whether a result of n bytes of a text of that length is small enough,
// and tells r.failed if it is not.
func (r *replace) fits(n, text int) bool {
	if n <= text || n <= freeGrowth || n <= maxGrowth*text && n <= maxReplaced {
		return true
	}
	r.failed.set(fmt.Errorf("%s: Replace makes more than %d MiB of a text of %d bytes; the limits are %d MiB, or %d times the text up to %d MiB", r.file, min(n, maxReplaced)>>20, text, freeGrowth>>20, maxGrowth, maxReplaced>>20))
	return false
}

const severalBlanks = " {2,}"

func readReplace(n *node) (*replace, error) {
	find, text, err := readPattern(n)
	if err != nil {
		return nil, err
	}
	literalText := ""
	if _, ok := find.(literal); ok {
		literalText = text
	}
	content, err := n.wantString("content")
	if err != nil {
		return nil, err
	}
	return &replace{
		find: find, literal: literalText, content: content, blanks: literalText == "" && text == severalBlanks,
		file: n.doc.file, failed: n.doc.failed,
	}, nil
}

// normalize returns s itself if the result would be too long, which r.failed is told.
func (r *replace) normalize(s string) string {
	if len(s) > freeGrowth/maxGrowth && r.failed.get() != nil {
		return s // nobody uses what comes of it
	}
	if r.literal != "" {
		if growth := len(r.content) - len(r.literal); growth > 0 && len(s)/len(r.literal) > 0 {
			if matches := strings.Count(s, r.literal); !r.fits(len(s)+matches*growth, len(s)) {
				return s
			}
		}
		return strings.ReplaceAll(s, r.literal, r.content)
	}
	if r.blanks && !strings.Contains(s, "  ") {
		return s
	}
	var out strings.Builder
	done := 0
	for m := r.find.matches(s); m.next(); {
		if !r.fits(out.Len()+m.start-done+len(r.content), len(s)) {
			return s
		}
		out.WriteString(s[done:m.start])
		out.WriteString(r.content)
		done = m.end
	}
	if done == 0 && out.Len() == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

func (r *replace) decode(tokens []string) []string {
	for i, t := range tokens {
		tokens[i] = r.normalize(t)
	}
	return tokens
}
