package gate

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

// Parse reads an expression over the metrics; the grammar is that of the
// package comment. The error is a *SyntaxError.
func Parse(text string, metrics []Metric) (*Expr, error) {
	if len(text) > maxBytes {
		return nil, &SyntaxError{1, fmt.Sprintf("the expression is longer than %d bytes", maxBytes)}
	}
	p := parser{scan: scanner{rest: text, column: 1}, metrics: metrics}
	p.step()
	if p.is(end) {
		return nil, &SyntaxError{p.tok.column, "a condition is missing, such as ttft_p99>+5%"}
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
	scan    scanner
	tok     token
	metrics []Metric
	depth   int
	err     error
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
func (p *parser) expression() *Expr { return p.list("||", or, p.term) }

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

// factor = "(" expression ")" | condition .
func (p *parser) factor() *Expr {
	if p.err != nil {
		return nil
	}
	open := p.tok
	if !p.accept("(") {
		return p.condition()
	}
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d levels of parentheses", maxDepth)
		return nil
	}
	defer func() { p.depth-- }()
	e := p.expression()
	if !p.accept(")") {
		p.fail("expected a ) for the ( in column %d, found %s", open.column, p.tok.describe())
	}
	return e
}

// condition = value | change | verdict .
func (p *parser) condition() *Expr {
	if !p.is(word) {
		p.fail("expected a metric or (, found %s", p.tok.describe())
		return nil
	}
	e := &Expr{node: compare, of: Change}
	if !p.operand(e) {
		return nil
	}
	p.step()
	if p.is(word) {
		return p.judgement(e)
	}
	if p.is(operator) {
		switch p.tok.text {
		case "<", "<=", ">", ">=":
			e.op = p.tok.text
		}
	}
	if e.op == "" {
		words := ""
		if e.metric.Judged && e.of == Change {
			words = ", better, worse or different"
		}
		p.fail("expected <, <=, > or >=%s after %s, found %s", words, e.operand(), p.tok.describe())
		return nil
	}
	p.step()
	p.limit(e)
	return e
}

// operand takes apart old.ttft_p99, ttft_p99.low and the like.
func (p *parser) operand(e *Expr) bool {
	name := p.tok.text
	if before, after, ok := strings.Cut(name, "."); ok {
		switch {
		case before == "old":
			e.of, name = Old, after
		case before == "new":
			e.of, name = New, after
		case after == "low":
			e.of, name = Low, before
		case after == "high":
			e.of, name = High, before
		default:
			p.fail("%s: a metric goes alone, after old. or new., or before .low or .high", quote(name))
			return false
		}
	}
	var keys []string
	for _, m := range p.metrics {
		if m.Key == name {
			e.metric = m
			return true
		}
		keys = append(keys, m.Key)
	}
	p.fail("%s: no metric; there are %s", quote(name), strings.Join(keys, ", "))
	return false
}

// verdict = metric ( "better" | "worse" | "different" ) .
func (p *parser) judgement(e *Expr) *Expr {
	switch p.tok.text {
	case "better", "worse", "different":
		e.verdict = p.tok.text
	default:
		p.fail("expected better, worse or different after %s, found %s", e.operand(), p.tok.describe())
		return nil
	}
	switch {
	case e.of != Change:
		p.fail("%s is a number; %s is said of %s alone", e.operand(), e.verdict, e.metric.Key)
		return nil
	case !e.metric.Judged:
		p.fail("%s has no verdict: it is descriptive; write %s>+5%% or %s.low>0%%", e.metric.Key, e.metric.Key, e.metric.Key)
		return nil
	}
	e.node = judge
	p.step()
	return e
}

// unitExponents are the powers of ten that make nanoseconds of a unit. Both
// characters that look like µ are taken.
var unitExponents = map[string]int{"ns": 0, "us": 3, "µs": 3, "μs": 3, "ms": 6, "s": 9}

// example is what an operand may be compared with.
func (e *Expr) example() string {
	switch {
	case e.of != Old && e.of != New:
		return "a percent such as +5%"
	case e.metric.Kind == Duration:
		return "a duration such as 200ms"
	case e.metric.Kind == Share:
		return "a percent such as 1%"
	}
	return "a number such as 25.5"
}

// limit reads what the operand is compared with.
func (p *parser) limit(e *Expr) {
	if !p.is(quantity) {
		p.fail("expected %s after %s%s, found %s", e.example(), e.operand(), e.op, p.tok.describe())
		return
	}
	text := p.tok.text
	unsigned := strings.TrimLeft(text, "+-")
	sign := text[:len(text)-len(unsigned)]
	unit := strings.TrimLeft(unsigned, "0123456789.")
	number := unsigned[:len(unsigned)-len(unit)]
	exponent, isTime := unitExponents[unit]
	switch {
	case len(sign) > 1 || !isNumber(number):
		p.fail("%s: no number; write %s", quote(text), e.example())
		return
	case unit != "" && unit != "%" && !isTime:
		p.fail("%s: unknown unit %s; there are ns, us, ms, s and %%", quote(text), quote(unit))
		return
	}
	if e.percent() {
		if unit != "%" {
			p.notPercent(e, text)
			return
		}
		exponent = -2
	} else {
		switch wantTime := e.metric.Kind == Duration; {
		case sign != "":
			p.fail("%s: a value has no sign; write %s", quote(text), e.example())
			return
		case unit == "%":
			p.fail("%s: %s is no share; write %s, or %s%s%s for the change", quote(text), e.operand(), e.example(), e.metric.Key, e.op, text)
			return
		case wantTime && unit == "":
			p.fail("%s: a duration needs a unit: %sms or %ss", quote(text), number, number)
			return
		case !wantTime && unit != "":
			p.fail("%s: %s is per second and has no unit; write %s", quote(text), e.metric.Key, e.example())
			return
		}
	}
	// ParseFloat rounds once; a product of a number and a unit would twice.
	v, err := strconv.ParseFloat(sign+number+"e"+strconv.Itoa(exponent), 64)
	if err != nil || math.IsInf(v, 0) {
		p.fail("%s: the number is too large", quote(text))
		return
	}
	e.limit, e.text = v, text
	p.step()
}

// notPercent says what a limit without % may have meant.
func (p *parser) notPercent(e *Expr, text string) {
	if e.of == Change {
		p.fail("%s: a change is in percent; write %s%s+5%%, or new.%s%s%s for the value", quote(text), e.metric.Key, e.op, e.metric.Key, e.op, strings.TrimLeft(text, "+-"))
		return
	}
	p.fail("%s: %s is in percent; write %s", quote(text), e.operand(), e.example())
}

// isNumber reports whether s is digits, with a point and digits or without.
func isNumber(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
