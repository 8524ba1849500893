package slo

import "strings"

// A Result is what a request is to an objective.
type Result uint8

// Unknown says that the request lacks a metric that would have decided.
const (
	Unknown Result = 0
	Met     Result = 1
	Missed  Result = 2
)

// String returns "unknown", "met" or "missed".
func (r Result) String() string {
	switch r {
	case Met:
		return "met"
	case Missed:
		return "missed"
	}
	return "unknown"
}

// A node is what an Expr stands for.
type node uint8

const (
	compare node = iota
	and
	or
	not
)

// An Expr is an objective. It does not change and may be used by several
// goroutines.
type Expr struct {
	node  node
	parts []*Expr // and, or: two or more; not: one

	// of a comparison
	metric Metric
	op     string
	value  float64
	text   string // the value as it was written
}

// String returns the expression with one blank on both sides of && and || and
// without parentheses that mean nothing. It reads back as the same.
func (e *Expr) String() string {
	var b strings.Builder
	e.write(&b, or)
	return b.String()
}

// write puts parentheses around a part that binds less than its place asks for:
// or is weakest, a comparison strongest.
func (e *Expr) write(b *strings.Builder, place node) {
	binding := map[node]int{or: 0, and: 1, not: 2, compare: 3}
	if binding[e.node] < binding[place] {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch e.node {
	case compare:
		b.WriteString(e.metric.Name + e.op + e.text)
	case not:
		b.WriteByte('!')
		e.parts[0].write(b, not)
	case and, or:
		// A part of the same kind is one that was in parentheses: without them
		// it reads back as part of this list, which means the same but is
		// another tree.
		inner, sign := not, " && "
		if e.node == or {
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

// Conditions are the parts that must all be met: those of the outermost &&, or
// the expression itself.
func (e *Expr) Conditions() []*Expr {
	if e.node != and {
		return []*Expr{e}
	}
	return e.parts
}

// Metrics are those that the expression holds, each once, in order.
func (e *Expr) Metrics() []Metric {
	var all []Metric
	seen := map[string]bool{}
	var walk func(*Expr)
	walk = func(e *Expr) {
		if e.node == compare && !seen[e.metric.Name] {
			seen[e.metric.Name] = true
			all = append(all, e.metric)
		}
		for _, p := range e.parts {
			walk(p)
		}
	}
	walk(e)
	return all
}

// Eval decides for one request. value returns a metric of it: nanoseconds,
// tokens or tokens per second, and false for one that it lacks.
func (e *Expr) Eval(value func(Metric) (float64, bool)) Result {
	switch e.node {
	case not:
		switch e.parts[0].Eval(value) {
		case Met:
			return Missed
		case Missed:
			return Met
		}
		return Unknown
	case and:
		return e.all(value, Missed, Met)
	case or:
		return e.all(value, Met, Missed)
	}
	v, ok := value(e.metric)
	if !ok {
		return Unknown
	}
	var met bool
	switch e.op {
	case "<":
		met = v < e.value
	case "<=":
		met = v <= e.value
	case ">":
		met = v > e.value
	case ">=":
		met = v >= e.value
	}
	if met {
		return Met
	}
	return Missed
}

// all returns decisive when a part is that, other when all parts are, and
// Unknown else.
func (e *Expr) all(value func(Metric) (float64, bool), decisive, other Result) Result {
	r := other
	for _, p := range e.parts {
		switch p.Eval(value) {
		case decisive:
			return decisive
		case Unknown:
			r = Unknown
		}
	}
	return r
}
