package expr

import "fmt"

// Bounds of an expression, which keep the recursion of the parser small.
const (
	maxBytes = 4096
	maxDepth = 100
)

// A SyntaxError names the column at which parsing failed and what was expected
// there.
type SyntaxError struct {
	Column int // of the character, from 1
	Text   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// A Language defines the conditions of an expression.
type Language[C fmt.Stringer] struct {
	// Operand names the first word of a condition in messages: "a metric".
	Operand string
	// Example is an expression, for the message about an empty one.
	Example string
	// Condition reads a condition whose first word is p.Text, and steps over
	// it. After p.Fail it returns at once, and its result is ignored.
	Condition func(p *Parser) C
}

// Parse reads an expression; the package comment has the grammar. The
// error is a *SyntaxError.
func Parse[C fmt.Stringer](text string, l Language[C]) (*Expr[C], error) {
	if len(text) > maxBytes {
		return nil, &SyntaxError{1, fmt.Sprintf("the expression is longer than %d bytes", maxBytes)}
	}
	g := grammar[C]{Parser{scan: scanner{rest: text, column: 1}}, l, 0}
	g.Next()
	if g.tok.kind == end {
		return nil, &SyntaxError{g.tok.column, "an expression is missing, such as " + l.Example}
	}
	e := g.expression()
	if g.tok.kind != end {
		g.Fail("expected &&, || or the end, found %s", g.tok.describe())
	}
	if g.err != nil {
		return nil, g.err
	}
	return e, nil
}

// A Parser reads one token ahead. After the first error its methods do nothing.
type Parser struct {
	scan scanner
	tok  token
	err  error
}

// Text returns the next token; "" at the end.
func (p *Parser) Text() string { return p.tok.text }

// IsWord reports whether the next token is a word.
func (p *Parser) IsWord() bool { return p.tok.kind == word }

// Describe returns the next token as messages call it: quoted and cut to a
// bound, or "the end".
func (p *Parser) Describe() string { return p.tok.describe() }

// Next steps over the next token.
func (p *Parser) Next() { p.tok = p.scan.next() }

// Fail ends the parsing with a [SyntaxError] at the next token. Only the first
// error is kept.
func (p *Parser) Fail(format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{p.tok.column, fmt.Sprintf(format, args...)}
	}
}

// Refuse is Fail with the next token, quoted, and a colon in front.
func (p *Parser) Refuse(format string, args ...any) {
	p.Fail("%s: %s", p.tok.describe(), fmt.Sprintf(format, args...))
}

// accept steps over an operator if it is there.
func (p *Parser) accept(op string) bool {
	if p.err != nil || p.tok.kind != operator || p.tok.text != op {
		return false
	}
	p.Next()
	return true
}

// A grammar has a method for each rule of the package comment.
type grammar[C fmt.Stringer] struct {
	Parser
	language Language[C]
	depth    int // of parentheses and !
}

// expression = term { "||" term } .
func (g *grammar[C]) expression() *Expr[C] { return g.list("||", or, g.term) }

// term = factor { "&&" factor } .
func (g *grammar[C]) term() *Expr[C] { return g.list("&&", and, g.factor) }

func (g *grammar[C]) list(sign string, op op, part func() *Expr[C]) *Expr[C] {
	parts := []*Expr[C]{part()}
	for g.accept(sign) {
		parts = append(parts, part())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &Expr[C]{op: op, parts: parts}
}

// factor = "!" factor | "(" expression ")" | condition .
func (g *grammar[C]) factor() *Expr[C] {
	open := g.tok
	switch {
	case g.enter("!"):
		defer g.leave()
		return &Expr[C]{op: not, parts: []*Expr[C]{g.factor()}}
	case g.enter("("):
		defer g.leave()
		e := g.expression()
		if !g.accept(")") {
			g.Fail("expected a ) for the ( in column %d, found %s", open.column, g.tok.describe())
		}
		return e
	case g.tok.kind != word:
		g.Fail("expected %s, ( or !, found %s", g.language.Operand, g.tok.describe())
	}
	if g.err != nil {
		return nil
	}
	return &Expr[C]{op: leaf, condition: g.language.Condition(&g.Parser)}
}

// enter steps over an operator that begins a level of nesting.
func (g *grammar[C]) enter(op string) bool {
	if g.depth == maxDepth && g.tok.kind == operator && g.tok.text == op {
		g.Fail("more than %d levels of parentheses and !", maxDepth)
	}
	if !g.accept(op) {
		return false
	}
	g.depth++
	return true
}

func (g *grammar[C]) leave() { g.depth-- }
