package slo

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind of token.
type kind uint8

const (
	end kind = iota
	word
	value
	operator // text tells which
	stray    // what no expression holds
)

// A token is a piece of an expression and where it stands.
type token struct {
	kind   kind
	text   string
	column int // in characters, from 1
}

// describe is how messages call the token.
func (t token) describe() string {
	if t.kind == end {
		return "the end"
	}
	return quote(t.text)
}

// A scanner cuts an expression into tokens.
type scanner struct {
	rest   string
	column int
}

// operators, the longer ones first.
var operators = []string{"&&", "||", "<=", ">=", "<", ">", "!", "(", ")"}

func (s *scanner) next() token {
	for s.rest != "" && strings.ContainsRune(" \t\r\n", rune(s.rest[0])) {
		s.take(1)
	}
	if s.rest == "" {
		return token{end, "", s.column}
	}
	// "!=" is no operator, and not "not" followed by "=" either.
	if !strings.HasPrefix(s.rest, "!=") {
		for _, o := range operators {
			if strings.HasPrefix(s.rest, o) {
				return s.token(operator, len(o))
			}
		}
	}
	switch c := s.rest[0]; {
	case c >= '0' && c <= '9':
		return s.token(value, s.run(0))
	case c == '_' || c < utf8.RuneSelf && unicode.IsLetter(rune(c)):
		return s.token(word, s.run(0))
	}
	n := 0
	for n < len(s.rest) && strings.IndexByte("=!&|", s.rest[n]) >= 0 {
		n++ // "==" is said as a whole
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(s.rest)
	}
	return s.token(stray, n)
}

// run returns how many bytes from i on are letters, digits, points and
// underscores: a name, or a number and its unit.
func (s *scanner) run(i int) int {
	for i < len(s.rest) {
		r, n := utf8.DecodeRuneInString(s.rest[i:])
		if r == utf8.RuneError && n == 1 || r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += n
	}
	return i
}

func (s *scanner) token(k kind, n int) token {
	t := token{k, s.rest[:n], s.column}
	s.take(n)
	return t
}

func (s *scanner) take(n int) {
	s.column += utf8.RuneCountInString(s.rest[:n])
	s.rest = s.rest[n:]
}
