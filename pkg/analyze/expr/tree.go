package expr

import (
	"fmt"
	"iter"
	"strings"
)

// A Truth is what a condition or an expression comes to. && makes the least of
// its parts, || the greatest, and ! turns False and True round.
type Truth uint8

// Unknown is between the two others.
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

// An op is how the parts of an expression are joined.
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
	parts     []*Expr[C] // of and and or two or more, of not one
	condition C          // of a leaf
}

// String returns the expression with one blank on both sides of && and || and
// without parentheses that mean nothing. It reads back as the same.
func (e *Expr[C]) String() string {
	var b strings.Builder
	e.write(&b, or)
	return b.String()
}

// bindings say how strongly operators bind.
var bindings = [...]int{or: 0, and: 1, not: 2, leaf: 3}

// write puts parentheses around an expression that binds less than its place
// asks for.
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
		// A part of the same kind is one that was in parentheses: without them
		// it reads back as part of this list, which means the same but is
		// another tree.
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

// Conjuncts are the parts that must all be true: those of the outermost &&, or
// the expression itself.
func (e *Expr[C]) Conjuncts() []*Expr[C] {
	if e.op != and {
		return []*Expr[C]{e}
	}
	return e.parts
}

// Conditions are those that the expression holds, in order.
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

// Eval returns what the expression comes to when its conditions are what of
// says. It asks only for those that it needs to know, from left to right.
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

// decisive is what a part must be to decide a list alone.
func (e *Expr[C]) decisive() Truth {
	if e.op == or {
		return True
	}
	return False
}

// Decide is Eval, with the conditions that led to it: of a list, those of the
// parts that are what the list is. It asks for all of them.
func (e *Expr[C]) Decide(of func(*C) Truth) (Truth, []*C) {
	switch e.op {
	case leaf:
		return of(&e.condition), []*C{&e.condition}
	case not:
		t, by := e.parts[0].Decide(of)
		return t.not(), by
	}
	var by [True + 1][]*C // of the parts of each truth
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
