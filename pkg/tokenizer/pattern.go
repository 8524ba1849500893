package tokenizer

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// A matcher finds the successive matches of a pattern.
type matcher interface {
	matches(s string) *matches
}

// matches iterates over the matches of a pattern in a text. After next returns true, the
// match is text[start:end], which may be empty.
type matches struct {
	text       string
	start, end int
	find       func(s string, i int) (start, end int) // start < 0 after the last match
	from       int
	some       bool // there was an earlier match
}

// next finds the next match. As in the library's engine, an empty match directly after
// another match does not count.
func (m *matches) next() bool {
	if m.text == "" {
		return false // an empty text has no match, not even an empty one
	}
	for m.from <= len(m.text) {
		start, end := m.find(m.text, m.from)
		if start < 0 {
			return false
		}
		again := start == end && m.some && start == m.end
		m.from = end
		if start == end {
			m.from += max(1, runeLen(m.text, end))
		}
		if again {
			continue
		}
		m.start, m.end, m.some = start, end, true
		return true
	}
	return false
}

func runeLen(s string, i int) int {
	_, n := utf8.DecodeRuneInString(s[i:])
	return n
}

// A scanner is a hand-written pattern. It returns the end of the match that starts at
// s[i], or i if there is none. Matches are never empty and do not depend on the text
// before i.
type scanner func(s string, i int) int

func (scan scanner) matches(s string) *matches {
	return &matches{text: s, find: func(s string, i int) (start, end int) {
		for i < len(s) {
			if end := scan(s, i); end > i {
				return i, end
			}
			i += runeLen(s, i)
		}
		return -1, -1
	}}
}

// literal is a literal pattern. As with a regular expression, an empty one matches between
// all characters.
type literal string

func (l literal) matches(s string) *matches {
	return &matches{text: s, find: func(s string, i int) (start, end int) {
		at := strings.Index(s[i:], string(l))
		if at < 0 {
			return -1, -1
		}
		return i + at, i + at + len(l)
	}}
}

// expression is a regular expression without a scanner.
type expression struct {
	re      *regexp2.Regexp
	pattern string
	failed  *failure
	most    time.Duration // limit for one text
}

// matchLimit bounds the time for the matches of one text. A megabyte usually takes a tenth
// of a second, but some expressions take exponential time.
const matchLimit = 20 * time.Second

// limit sets the time for the matches of one text.
func (x *expression) limit(most time.Duration) { x.most, x.re.MatchTimeout = most, most }

// fail records that matching s took too long.
func (x *expression) fail(s string) {
	x.failed.set(fmt.Errorf("the regular expression %s takes more than %v to cut a text of %d bytes, which begins %s; the text was not counted", quote(x.pattern), x.most, len(s), quote(s)))
}

func (x *expression) matches(s string) *matches {
	start := time.Now()
	// The engine counts runes; at converts its offsets to bytes.
	text := []rune(s)
	runes, bytes := 0, 0
	at := func(rune int) int {
		for ; runes < rune; runes++ {
			bytes += utf8.RuneLen(text[runes])
		}
		return bytes
	}
	var last *regexp2.Match
	return &matches{text: s, find: func(_ string, _ int) (from, to int) {
		var err error
		if time.Since(start) > x.most {
			x.fail(s)
			return -1, -1
		}
		if last == nil {
			last, err = x.re.FindRunesMatch(text)
		} else {
			last, err = x.re.FindNextMatch(last)
		}
		if err != nil { // the time limit is the only error
			x.fail(s)
			return -1, -1
		}
		if last == nil {
			return -1, -1
		}
		return at(last.RuneIndex), at(last.RuneIndex + last.RuneLength)
	}}
}

// readPattern reads the pattern of a component, {"String": …} or {"Regex": …}. It also
// returns the text of the pattern.
func readPattern(n *node) (m matcher, text string, err error) {
	p, err := n.want("pattern")
	if err != nil {
		return nil, "", err
	}
	if err := p.object(); err != nil {
		return nil, "", err
	}
	if s := p.member("String"); s != nil {
		text, err := s.string()
		return literal(text), text, err
	}
	r := p.member("Regex")
	if r == nil {
		return nil, "", p.errorf(`"String" or "Regex" is missing`)
	}
	pattern, err := r.string()
	if err != nil {
		return nil, "", err
	}
	if scan := knownPattern(pattern); scan != nil {
		return scan, pattern, nil
	}
	x, err := compileExpression(pattern)
	if err != nil {
		return nil, "", r.errorf("regular expression %s: %w", quote(pattern), err)
	}
	if r.doc.failed != nil {
		x.failed = r.doc.failed
	}
	r.doc.note("%s: the regular expression %s has no scanner of its own and is matched by a general engine, which is slower", r.field, quote(pattern))
	return x, pattern, nil
}
