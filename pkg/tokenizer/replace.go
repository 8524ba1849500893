package tokenizer

import "strings"

// replace is the normalizer and the decoder Replace: matches of a pattern give
// way to a text, in which nothing is special.
type replace struct {
	find    matcher
	literal string // the pattern, if it is no regular expression
	content string
}

func readReplace(n *node) (*replace, error) {
	find, text, err := readPattern(n)
	if err != nil {
		return nil, err
	}
	if _, ok := find.(literal); !ok {
		text = ""
	}
	content, err := n.wantString("content")
	if err != nil {
		return nil, err
	}
	return &replace{find, text, content}, nil
}

func (r *replace) normalize(s string) string {
	if r.literal != "" {
		return strings.ReplaceAll(s, r.literal, r.content)
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
