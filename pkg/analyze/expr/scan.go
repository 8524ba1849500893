package expr

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A kind of token.
type kind uint8

const (
	end kind = iota
	word
	quantity
	operator // text tells which
	stray    // a character that no expression contains
)

// A token is a piece of an expression with its position.
type token struct {
	kind   kind
	text   string
	column int // in characters, from 1
}

// describe returns the token for messages.
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
var operators = [...]string{"&&", "||", "<=", ">=", "<", ">", "!", "(", ")"}

func (s *scanner) next() token {
	s.skip()
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
	case c >= '0' && c <= '9' || c == '+' || c == '-':
		return s.token(quantity, 1+run(s.rest[1:], "%"))
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return s.token(word, run(s.rest, ""))
	}
	n := 0
	for n < len(s.rest) && strings.IndexByte("=!&|", s.rest[n]) >= 0 {
		n++ // the message quotes "==" as a whole
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(s.rest)
	}
	return s.token(stray, n)
}

// skip steps over blanks.
func (s *scanner) skip() {
	for s.rest != "" && strings.IndexByte(" \t\r\n", s.rest[0]) >= 0 {
		s.take(1)
	}
}

// run returns how many bytes of s are letters, digits, points, underscores or
// one of more: a name, or a number and its unit.
func run(s, more string) int {
	for i, r := range s {
		if r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(more, r) {
			return i
		}
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
	return strconv.Quote(sanitize.Fit(s, 41))
}
