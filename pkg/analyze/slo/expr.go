package slo

import "github.com/pa-tools/pa/pkg/analyze/expr"

// A Result is an objective's verdict on a request.
type Result uint8

// Unknown means that the request lacks a metric that would decide.
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

// An Expr is an objective. It does not change and may be used by several
// goroutines.
type Expr struct{ tree *expr.Expr[comparison] }

// A comparison compares a metric of the request with a value.
type comparison struct {
	metric   Metric
	relation expr.Relation
	value    float64
	text     string // the value as it was written
}

// String returns the comparison without blanks.
func (c comparison) String() string { return c.metric.Name + string(c.relation) + c.text }

// String returns the expression with one blank on both sides of && and || and without
// redundant parentheses. Parse of the result returns an equal expression.
func (e *Expr) String() string { return e.tree.String() }

// Conditions returns the parts that must all be met: the operands of the outermost &&, or
// the expression itself.
func (e *Expr) Conditions() []*Expr {
	var all []*Expr
	for _, part := range e.tree.Conjuncts() {
		all = append(all, &Expr{part})
	}
	return all
}

// Limit returns the metric and the value of an expression that is a single comparison; ok is false for
// any other. The value is in nanoseconds, tokens or tokens per second.
func (e *Expr) Limit() (m Metric, value float64, ok bool) {
	for c := range e.tree.Conditions() {
		if ok {
			return Metric{}, 0, false
		}
		m, value, ok = c.metric, c.value, e.String() == c.String()
	}
	return m, value, ok
}

// Metrics returns the metrics of the expression, each once, in order.
func (e *Expr) Metrics() []Metric {
	var all []Metric
	seen := map[string]bool{}
	for c := range e.tree.Conditions() {
		if !seen[c.metric.Name] {
			seen[c.metric.Name] = true
			all = append(all, c.metric)
		}
	}
	return all
}

// Eval decides for one request. value returns a metric of it: nanoseconds,
// tokens or tokens per second, and false for one that it lacks.
func (e *Expr) Eval(value func(Metric) (float64, bool)) Result {
	switch e.tree.Eval(func(c *comparison) expr.Truth {
		v, ok := value(c.metric)
		if !ok {
			return expr.Unknown
		}
		return expr.Of(c.relation.Holds(v, c.value))
	}) {
	case expr.True:
		return Met
	case expr.False:
		return Missed
	}
	return Unknown
}
