package slo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of an expression: no one writes longer ones, and the parser recurses.
const (
	maxBytes = 4096
	maxDepth = 100
)

// A SyntaxError says where an expression is not one, what was expected there,
// and what to write instead.
type SyntaxError struct {
	Column int // of the character, from 1
	Text   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// Parse reads an expression; the grammar is that of the package comment. The
// error is a *SyntaxError.
func Parse(text string) (*Expr, error) {
	if len(text) > maxBytes {
		return nil, &SyntaxError{1, fmt.Sprintf("the expression is longer than %d bytes", maxBytes)}
	}
	p := parser{scan: scanner{rest: text, column: 1}}
	p.step()
	if p.is(end) {
		return nil, &SyntaxError{p.tok.column, "an expression is missing, such as ttft<=200ms && itl_p99<=50ms"}
	}
	e := p.expression()
	if p.err == nil && !p.is(end) {
		p.fail("expected &&, || or the end, found %s", p.tok.describe())
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// A parser reads one token ahead. After the first error it only returns.
type parser struct {
	scan  scanner
	tok   token
	depth int
	err   error
}

func (p *parser) step()          { p.tok = p.scan.next() }
func (p *parser) is(k kind) bool { return p.tok.kind == k }

// accept steps over an operator if it is there.
func (p *parser) accept(op string) bool {
	if p.err != nil || p.tok.kind != operator || p.tok.text != op {
		return false
	}
	p.step()
	return true
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{p.tok.column, fmt.Sprintf(format, args...)}
	}
}

// expression = term { "||" term } .
func (p *parser) expression() *Expr {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d levels of parentheses and !", maxDepth)
		return nil
	}
	defer func() { p.depth-- }()
	return p.list("||", or, p.term)
}

// term = factor { "&&" factor } .
func (p *parser) term() *Expr { return p.list("&&", and, p.factor) }

func (p *parser) list(op string, n node, part func() *Expr) *Expr {
	parts := []*Expr{part()}
	for p.accept(op) {
		parts = append(parts, part())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &Expr{node: n, parts: parts}
}

// factor = "!" factor | "(" expression ")" | comparison .
func (p *parser) factor() *Expr {
	if p.err != nil {
		return nil
	}
	if p.accept("!") {
		if p.depth++; p.depth > maxDepth {
			p.fail("more than %d levels of parentheses and !", maxDepth)
			return nil
		}
		defer func() { p.depth-- }()
		return &Expr{node: not, parts: []*Expr{p.factor()}}
	}
	open := p.tok
	if p.accept("(") {
		e := p.expression()
		if !p.accept(")") {
			p.fail("expected a ) for the ( in column %d, found %s", open.column, p.tok.describe())
		}
		return e
	}
	return p.comparison()
}

// comparison = metric ( "<" | "<=" | ">" | ">=" ) value .
func (p *parser) comparison() *Expr {
	if !p.is(word) {
		p.fail("expected a metric, ( or !, found %s", p.tok.describe())
		return nil
	}
	m, why := metricOf(p.tok.text)
	if why != "" {
		p.fail("%s: %s", quote(p.tok.text), why)
		return nil
	}
	e := &Expr{node: compare, metric: m}
	p.step()
	if p.tok.kind == operator {
		switch p.tok.text {
		case "<", "<=", ">", ">=":
			e.op = p.tok.text
		}
	}
	if e.op == "" {
		p.fail("expected <, <=, > or >= after %s, found %s", m.Name, p.tok.describe())
		return nil
	}
	p.step()
	p.value(e)
	return e
}

// unitExponents are the powers of ten that make nanoseconds of a unit. Both
// characters that look like µ are taken.
var unitExponents = map[string]int{"ns": 0, "us": 3, "µs": 3, "μs": 3, "ms": 6, "s": 9}

// value = number [ unit ] .
func (p *parser) value(e *Expr) {
	example := map[Kind]string{Duration: "a duration such as 200ms", Count: "a number of tokens such as 100", Rate: "a number of tokens per second such as 25.5"}[e.metric.Kind]
	if !p.is(value) {
		p.fail("expected %s after %s%s, found %s", example, e.metric.Name, e.op, p.tok.describe())
		return
	}
	text := p.tok.text
	number := text[:len(text)-len(strings.TrimLeft(text, "0123456789."))]
	unit := text[len(number):]
	exponent, known := unitExponents[unit]
	switch {
	case !isNumber(number):
		p.fail("%s: no number; write %s", quote(text), example)
		return
	case unit != "" && !known:
		p.fail("%s: unknown unit %s; there are ns, us, ms and s", quote(text), quote(unit))
		return
	case e.metric.Kind != Duration && unit != "":
		p.fail("%s: %s has no unit; write %s", quote(text), e.metric.Name, example)
		return
	}
	// ParseFloat rounds once; a product of a number and a unit would twice.
	v, err := strconv.ParseFloat(number+"e"+strconv.Itoa(exponent), 64)
	if err != nil || math.IsInf(v, 0) {
		p.fail("%s: the number is too large", quote(text))
		return
	}
	if e.metric.Kind == Duration && unit == "" && v != 0 {
		p.fail("%s: a duration needs a unit: %sms or %ss", quote(text), number, number)
		return
	}
	e.value, e.text = v, text
	p.step()
}

// quote cuts and quotes text of the user.
func quote(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
