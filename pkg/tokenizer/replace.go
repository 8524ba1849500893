package tokenizer

import "strings"

// replace is the normalizer and the decoder Replace: matches of a pattern give
// way to a text, in which nothing is special.
type replace struct {
	find    matcher
	literal string // the pattern, if it is no regular expression
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
	return &replace{find, literalText, content, literalText == "" && text == severalBlanks}, nil
}

func (r *replace) normalize(s string) string {
	if r.literal != "" {
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
