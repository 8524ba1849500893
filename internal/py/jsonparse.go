package py

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A Library is a JSON library of Python, whose errors ParseJSON reproduces.
type Library uint8

const (
	// JSON is Python's json.loads. It also accepts NaN, Infinity and -Infinity, and
	// lone surrogates.
	JSON Library = 0
	// ORJSON is orjson.loads, which accepts strict JSON only.
	ORJSON Library = 1
)

// A SyntaxError says why a text is not JSON, in the words of the library. The messages
// of orjson are taken from release 3.11.
type SyntaxError struct {
	Msg string
	// Line, Column and Char are the position, in characters. Line and Column count
	// from 1, Char from 0.
	Line, Column, Char int
}

// Error returns the text of Python's exception: "Expecting value: line 1
// column 1 (char 0)".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: line %d column %d (char %d)", e.Msg, e.Line, e.Column, e.Char)
}

// ParseJSON checks that text is one JSON value and nothing else but white space.
// The error is a *SyntaxError. Nesting beyond 1000 levels is an error, too:
// Python gives up near there.
func ParseJSON(text string, l Library) (Value, error) {
	if strings.HasPrefix(text, "\ufeff") {
		if l == ORJSON {
			return Value{}, failure(text, 0, "UTF-8 byte order mark (BOM) is not supported")
		}
		return Value{}, failure(text, 0, "Unexpected UTF-8 BOM (decode using utf-8-sig)")
	}
	p := parser{s: text, orjson: l == ORJSON}
	from := p.space(0)
	if l == ORJSON {
		switch {
		case text == "":
			return Value{}, failure(text, 0, "Input is a zero-length, empty document")
		case from == len(text):
			return Value{}, failure(text, 0, "input data is empty")
		}
	}
	to := p.value(from, 0)
	if p.err == nil {
		if end := p.space(to); end < len(text) {
			p.fail(end, "Extra data", "unexpected content after document")
		}
	}
	if p.err != nil {
		return Value{}, p.err
	}
	return Value{text[from:to]}, nil
}

// maxDepth bounds the nesting of values.
const maxDepth = 1000

// A parser checks a text. A method that reads a part takes the index at which the part
// begins and returns the index after its end. After an error the result has no meaning.
type parser struct {
	s      string
	orjson bool
	err    *SyntaxError
}

// fail stores the first error and returns the end of the text. orjson gives the same
// message for every error at the end of the text.
func (p *parser) fail(at int, json, orjson string) int {
	switch {
	case p.err != nil:
	case !p.orjson:
		p.err = failure(p.s, at, json)
	case at >= len(p.s):
		p.err = failure(p.s, at, "unexpected end of data")
	default:
		p.err = failure(p.s, at, orjson)
	}
	return len(p.s)
}

func failure(text string, at int, msg string) *SyntaxError {
	before := text[:at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return &SyntaxError{
		Msg: msg, Line: strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(line) + 1, Char: utf8.RuneCountInString(before),
	}
}

func (p *parser) space(i int) int {
	for i < len(p.s) && (p.s[i] == ' ' || p.s[i] == '\n' || p.s[i] == '\r' || p.s[i] == '\t') {
		i++
	}
	return i
}

// at returns the byte at i; 0 after the end.
func (p *parser) at(i int) byte {
	if i < len(p.s) {
		return p.s[i]
	}
	return 0
}

func (p *parser) value(i, depth int) int {
	if depth > maxDepth {
		return p.fail(i, "maximum recursion depth exceeded", "Recursion limit reached")
	}
	switch c := p.at(i); {
	case c == '"':
		return p.str(i)
	case c == '{':
		return p.elements(i, depth, '}')
	case c == '[':
		return p.elements(i, depth, ']')
	case c == 't':
		return p.literal(i, "true")
	case c == 'f':
		return p.literal(i, "false")
	case c == 'n':
		return p.literal(i, "null")
	case c == '-' || c >= '0' && c <= '9':
		return p.number(i)
	case c == 'N' && !p.orjson:
		return p.literal(i, "NaN")
	case c == 'I' && !p.orjson:
		return p.literal(i, "Infinity")
	}
	return p.noValue(i)
}

func (p *parser) noValue(i int) int {
	return p.fail(i, "Expecting value", "unexpected character, expected a JSON value")
}

func (p *parser) literal(i int, word string) int {
	if strings.HasPrefix(p.s[i:], word) {
		return i + len(word)
	}
	if p.orjson && strings.HasPrefix(word, p.s[i:]) {
		return p.fail(len(p.s), "", "")
	}
	return p.fail(i, "Expecting value", "invalid literal, expected '"+word+"'")
}

// number reads a number. "01", "1." and "1e" are a number and extra data for JSON, and
// errors for ORJSON.
func (p *parser) number(from int) int {
	i := from
	if p.at(i) == '-' {
		i++
		if !p.orjson && strings.HasPrefix(p.s[i:], "Infinity") {
			return i + len("Infinity")
		}
	}
	switch c := p.at(i); {
	case c == '0':
		i++
		if d := p.at(i); p.orjson && d >= '0' && d <= '9' {
			return p.fail(i-1, "", "number with leading zero is not allowed")
		}
	case c >= '1' && c <= '9':
		i = p.digits(i)
	case p.orjson && i >= len(p.s):
		return p.fail(i, "", "")
	case p.orjson:
		return p.fail(i, "", "no digit after sign")
	default:
		return p.noValue(from)
	}
	if p.at(i) == '.' {
		end := p.digits(i + 1)
		if end > i+1 {
			i = end
		} else if p.orjson {
			return p.fail(i+1, "", "no digit after decimal point")
		}
	}
	if c := p.at(i); c == 'e' || c == 'E' {
		k := i + 1
		if c := p.at(k); c == '+' || c == '-' {
			k++
		}
		end := p.digits(k)
		if end > k {
			i = end
		} else if p.orjson {
			return p.fail(k, "", "no digit after exponent sign")
		}
	}
	return i
}

func (p *parser) digits(i int) int {
	for c := p.at(i); c >= '0' && c <= '9'; c = p.at(i) {
		i++
	}
	return i
}

func (p *parser) str(from int) int {
	for i, s := from+1, p.s; i < len(s); {
		for i < len(s) && plain[s[i]] {
			i++
		}
		if i == len(s) {
			break
		}
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			if i = p.escape(from, i); p.err != nil {
				return i
			}
		default:
			return p.fail(i, "Invalid control character at", "unexpected control character in string")
		}
	}
	if p.orjson {
		return p.fail(len(p.s), "", "")
	}
	return p.fail(from, "Unterminated string starting at", "")
}

// plain has the bytes of a string that need no escape.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// escape reads the escape at i of a string that begins at from.
func (p *parser) escape(from, i int) int {
	const invalid = "invalid escaped sequence in string"
	switch p.at(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 0:
		if i+1 >= len(p.s) {
			if p.orjson {
				return p.fail(len(p.s), "", "")
			}
			return p.fail(from, "Unterminated string starting at", "")
		}
	case 'u':
		r, ok := p.hex(i)
		switch {
		case !ok && p.orjson && strings.Trim(p.s[i+2:], "0123456789abcdefABCDEF") == "":
			return p.fail(len(p.s), "", "")
		case !ok && p.orjson:
			return p.fail(i, "", invalid)
		case !ok:
			return p.fail(i+1, `Invalid \uXXXX escape`, "")
		case !p.orjson || r < 0xd800 || r > 0xdfff:
			return i + 6
		case r >= 0xdc00:
			return p.fail(i, "", "invalid high surrogate in string")
		}
		switch low, ok := p.hex(i + 6); {
		case !ok:
			return p.fail(i, "", "no low surrogate in string")
		case low < 0xdc00 || low > 0xdfff:
			return p.fail(i, "", "invalid low surrogate in string")
		}
		return i + 12
	}
	return p.fail(i, `Invalid \escape`, invalid)
}

// hex returns the number of the escape \uXXXX at i.
func (p *parser) hex(i int) (r rune, ok bool) {
	if p.at(i) != '\\' || p.at(i+1) != 'u' || i+6 > len(p.s) {
		return 0, false
	}
	return jsonscan.Hex4([]byte(p.s[i+2 : i+6]))
}

// elements reads a dict or a list, which end closes.
func (p *parser) elements(i, depth int, end byte) int {
	i = p.space(i + 1)
	if p.at(i) == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i = p.key(i); p.err != nil {
				return i
			}
		}
		if i = p.space(p.value(i, depth+1)); p.err != nil {
			return i
		}
		switch p.at(i) {
		case end:
			return i + 1
		case ',':
		default:
			return p.fail(i, "Expecting ',' delimiter", "unexpected character, expected ',' or '"+string(rune(end))+"'")
		}
		comma := i
		i = p.space(i + 1)
		if p.orjson && p.at(i) == end {
			return p.fail(comma, "", "trailing comma is not allowed")
		}
	}
}

// key reads the name of a member, with what is around the colon.
func (p *parser) key(i int) int {
	if p.at(i) != '"' {
		return p.fail(i, "Expecting property name enclosed in double quotes", "unexpected character, expected a string key")
	}
	if i = p.space(p.str(i)); p.err == nil && p.at(i) != ':' {
		return p.fail(i, "Expecting ':' delimiter", "unexpected character, expected ':' after key")
	}
	return p.space(i + 1)
}
