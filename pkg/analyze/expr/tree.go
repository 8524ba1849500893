package expr

import (
	"fmt"
	"iter"
	"strings"
)

// A Truth is the value of a condition or an expression. && is the least of its
// parts, || the greatest, and ! swaps False and True.
type Truth uint8

// Unknown is between False and True.
const (
	False   Truth = 0
	Unknown Truth = 1
	True    Truth = 2
)

// Of returns True or False.
func Of(b bool) Truth {
	if b {
		return True
	}
	return False
}

func (t Truth) not() Truth { return True - t }

// An op joins the parts of an expression.
type op uint8

const (
	leaf op = iota // a condition
	and
	or
	not
)

// An Expr is an expression over conditions of type C, whose String must be text
// that the language reads as the same condition. It does not change and may be
// used concurrently.
type Expr[C fmt.Stringer] struct {
	op        op
	parts     []*Expr[C] // two or more for and, or; one for not
	condition C          // of a leaf
}

// String returns the expression with one blank on both sides of && and || and
// without needless parentheses. Parsing the text gives the same expression.
func (e *Expr[C]) String() string {
	var b strings.Builder
	e.write(&b, or)
	return b.String()
}

// bindings holds how strongly each operator binds.
var bindings = [...]int{or: 0, and: 1, not: 2, leaf: 3}

// write appends the expression, in parentheses if it binds less than place.
func (e *Expr[C]) write(b *strings.Builder, place op) {
	if bindings[e.op] < bindings[place] {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch e.op {
	case leaf:
		b.WriteString(e.condition.String())
	case not:
		b.WriteByte('!')
		e.parts[0].write(b, not)
	default:
		// A part with the same operator was in parentheses. Without them it would
		// become a part of this list: the same meaning, but another tree.
		inner, sign := not, " && "
		if e.op == or {
			inner, sign = and, " || "
		}
		for i, p := range e.parts {
			if i > 0 {
				b.WriteString(sign)
			}
			p.write(b, inner)
		}
	}
}

// conjuncts returns the parts that must all be true: the parts of the outermost
// &&, or the expression itself.
func (e *Expr[C]) conjuncts() []*Expr[C] {
	if e.op != and {
		return []*Expr[C]{e}
	}
	return e.parts
}

// Conditions yields the conditions of the expression, from left to right.
func (e *Expr[C]) Conditions() iter.Seq[*C] {
	return func(yield func(*C) bool) { e.each(yield) }
}

func (e *Expr[C]) each(yield func(*C) bool) bool {
	if e.op == leaf {
		return yield(&e.condition)
	}
	for _, p := range e.parts {
		if !p.each(yield) {
			return false
		}
	}
	return true
}

// Eval returns the value of the expression; of returns the value of a condition.
// Eval calls it only for the conditions that decide, from left to right.
func (e *Expr[C]) Eval(of func(*C) Truth) Truth {
	switch e.op {
	case leaf:
		return of(&e.condition)
	case not:
		return e.parts[0].Eval(of).not()
	}
	decisive := e.decisive()
	t := decisive.not()
	for _, p := range e.parts {
		switch p.Eval(of) {
		case decisive:
			return decisive
		case Unknown:
			t = Unknown
		}
	}
	return t
}

// margin returns by how much the expression is true, if a positive margin of a condition is true
// and a negative one false: the least margin of the parts of &&, the greatest of ||, and the
// opposite for !. of returns the margin of a condition; it is not ok for a condition that is
// Unknown, which counts in no margin. ok is false if all conditions are Unknown.
func (e *Expr[C]) margin(of func(*C) (margin float64, ok bool)) (margin float64, ok bool) {
	switch e.op {
	case leaf:
		return of(&e.condition)
	case not:
		m, ok := e.parts[0].margin(of)
		return -m, ok
	}
	for _, p := range e.parts {
		m, known := p.margin(of)
		if known && (!ok || (m < margin) == (e.op == and)) {
			margin, ok = m, true
		}
	}
	return margin, ok
}

// decisive returns the value with which one part decides the list.
func (e *Expr[C]) decisive() Truth {
	if e.op == or {
		return True
	}
	return False
}

// Decide returns the value of the expression and the conditions that led to it: of
// a list, the conditions of the parts that have the value of the list. It calls of
// for every condition.
func (e *Expr[C]) Decide(of func(*C) Truth) (Truth, []*C) {
	switch e.op {
	case leaf:
		return of(&e.condition), []*C{&e.condition}
	case not:
		t, by := e.parts[0].Decide(of)
		return t.not(), by
	}
	var by [True + 1][]*C // the conditions of the parts with each value
	var some [True + 1]bool
	for _, p := range e.parts {
		t, c := p.Decide(of)
		by[t], some[t] = append(by[t], c...), true
	}
	t := e.decisive()
	for _, next := range [...]Truth{Unknown, t.not()} {
		if !some[t] {
			t = next
		}
	}
	return t, by[t]
}
