package gate

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A kind of token.
type kind uint8

const (
	end kind = iota
	word
	quantity
	operator
	stray // what no expression holds
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
var operators = []string{"&&", "||", "<=", ">=", "<", ">", "(", ")"}

func (s *scanner) next() token {
	for s.rest != "" && strings.IndexByte(" \t\r\n", s.rest[0]) >= 0 {
		s.take(1)
	}
	if s.rest == "" {
		return token{end, "", s.column}
	}
	for _, o := range operators {
		if strings.HasPrefix(s.rest, o) {
			return s.token(operator, len(o))
		}
	}
	switch c := s.rest[0]; {
	case c >= '0' && c <= '9' || c == '+' || c == '-':
		n := 1 + run(s.rest[1:], "%")
		return s.token(quantity, n)
	case letter(c):
		return s.token(word, run(s.rest, ""))
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

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// run returns how many bytes of s are letters, digits, points, the two
// characters that look like µ, or one of more.
func run(s, more string) int {
	for i, r := range s {
		if r == 'µ' || r == 'μ' || r == '.' || r >= '0' && r <= '9' || r < utf8.RuneSelf && (letter(byte(r)) || strings.ContainsRune(more, r)) {
			continue
		}
		return i
	}
	return len(s)
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

// quote cuts and quotes text of the user.
func quote(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
