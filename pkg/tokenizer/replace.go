package tokenizer

import "strings"

// replace is the normalizer and the decoder Replace: it replaces matches of a pattern by a
// literal text.
type replace struct {
	find    matcher
	literal string // the pattern if it is literal, else ""
	content string
	blanks  bool // the pattern is the regular expression for several blanks
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
	return &replace{find: find, literal: literalText, content: content, blanks: literalText == "" && text == severalBlanks}, nil
}

func (r *replace) normalize(s string, most int) string {
	if r.literal != "" && r.fits(s, most) {
		return strings.ReplaceAll(s, r.literal, r.content)
	}
	if r.blanks && !strings.Contains(s, "  ") {
		return s
	}
	var out strings.Builder
	done := 0
	for m := r.find.matches(s); m.next(); {
		out.WriteString(s[done:m.start])
		out.WriteString(r.content)
		done = m.end
		if out.Len() > most {
			return out.String()
		}
	}
	if done == 0 && out.Len() == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// fits reports whether the result of replacing r.literal, which is not empty, in s has at
// most this many bytes.
func (r *replace) fits(s string, most int) bool {
	growth := max(0, len(r.content)-len(r.literal))
	matches := len(s) / len(r.literal) // or fewer
	return len(s)+matches*growth <= most || len(s)+strings.Count(s, r.literal)*growth <= most
}

func (r *replace) decode(tokens []string, most int) []string {
	for i, t := range tokens {
		tokens[i] = r.normalize(t, most)
		if most -= len(tokens[i]); most < 0 {
			break
		}
	}
	return tokens
}
