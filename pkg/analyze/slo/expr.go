package slo

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

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

// Margin returns by how much a request meets the objective: the logarithm of the factor between
// its metric and the value that it is compared with, of the condition that decides. It is positive
// if the request meets the objective, negative if the request misses it, and 0 at the limit.
// value is as for Eval; Margin ignores metrics that the request lacks.
func (e *Expr) Margin(value func(Metric) (float64, bool)) float64 {
	m, _ := e.tree.Margin(func(c *comparison) (float64, bool) {
		v, ok := value(c.metric)
		return c.margin(v), ok
	})
	return m
}

// margin returns by how much a value of the metric fulfills the comparison.
func (c *comparison) margin(v float64) float64 {
	m := math.Log(c.value / v)
	if c.value == v || math.IsNaN(m) {
		return 0
	}
	if c.relation == ">" || c.relation == ">=" {
		return -m
	}
	return m
}

// A Share is a condition on a percentile of a level, as a condition on the share of its values.
type Share struct {
	Metric Metric
	// Target is the share of values that must keep the limit, above 0 and below 1.
	Target float64
	c      comparison
}

// Margin returns by how much a value keeps the limit: 0 or more if it does, and below 0 if not.
func (s *Share) Margin(v float64) float32 {
	return Signed(s.c.margin(v), s.c.relation.Holds(v, s.c.value))
}

// Signed returns a margin as a float32 that is negative if and only if the objective is not met.
func Signed(margin float64, met bool) float32 {
	m := float32(margin)
	switch {
	case met:
		return max(m, 0)
	case m < 0:
		return m
	}
	return -math.SmallestNonzeroFloat32
}

// Shares returns the conditions of an objective of [ParseLevel] as conditions on shares of
// values: ttft_p99<=200ms asks for a TTFT of at most 200 ms of 99 % of the requests. It returns nil
// unless the objective is a percentile's condition or several joined by &&.
func (e *Expr) Shares() []Share {
	var all []Share
	for _, part := range e.Conditions() {
		m, _, ok := part.Limit()
		if !ok || m.Percentile == 0 {
			return nil
		}
		for c := range part.tree.Conditions() {
			s := Share{Metric: m, Target: m.Percentile / 100, c: *c}
			if c.relation == ">" || c.relation == ">=" {
				s.Target = 1 - s.Target
			}
			all = append(all, s)
		}
	}
	return all
}
