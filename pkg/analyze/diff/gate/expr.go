package gate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

// A Kind is the kind of a metric's values.
type Kind uint8

// Durations are nanoseconds, rates per second, shares from 0 to 1. A Number has no unit.
const (
	Duration Kind = 1
	Rate     Kind = 2
	Share    Kind = 3
	Number   Kind = 4
)

// A Metric is a name that expressions may use.
type Metric struct {
	Key  string
	Kind Kind
	// Judged is set if the metric has a verdict.
	Judged bool
}

// An Of selects a number of a metric.
type Of uint8

// The numbers of a metric.
const (
	Old    Of = 1
	New    Of = 2
	Change Of = 3 // new/old − 1
	Low    Of = 4 // lower end of the interval that is shown for the change
	High   Of = 5
)

// Values gives expressions the numbers and verdicts of a comparison.
type Values interface {
	// Number returns a number in the unit of the metric's Kind, changes and
	// their ends as ratios; or why there is none.
	Number(metric string, of Of) (v float64, missing string)
	// Verdict returns "better", "worse", "~" or another word, or why there is
	// none.
	Verdict(metric string) (v, missing string)
}

// A State is the result of an expression.
type State uint8

// The states of an expression.
const (
	Clear   = State(expr.False)   // it does not hold
	Unknown = State(expr.Unknown) // a number or verdict of it does not exist
	Tripped = State(expr.True)    // it holds
)

// String returns "passed", "n/a" or "failed": the result of a gate in this state.
func (s State) String() string {
	switch s {
	case Clear:
		return "passed"
	case Unknown:
		return "n/a"
	case Tripped:
		return "failed"
	}
	return "invalid(" + strconv.Itoa(int(s)) + ")"
}

// An Outcome is a state and the findings that led to it, one for each condition
// of that state.
type Outcome struct {
	State   State
	Because []string
}

// An Expr is an expression that was read by [Parse]. It may be used
// concurrently.
type Expr struct{ tree *expr.Expr[condition] }

// A condition compares a number of a metric, or asks for its verdict.
type condition struct {
	metric Metric
	of     Of

	older, newer string // names of the sides

	relation expr.Relation // "" for a verdict
	limit    float64
	written  expr.Quantity // the limit

	verdict string
}

// String returns the expression in a form that Parse reads as the same.
func (e *Expr) String() string { return e.tree.String() }

// String returns the condition without needless blanks.
func (c condition) String() string {
	if c.relation == "" {
		return c.metric.Key + " " + c.verdict
	}
	return c.operand() + string(c.relation) + c.written.String()
}

func (c *condition) operand() string {
	switch c.of {
	case Old:
		return c.older + "." + c.metric.Key
	case New:
		return c.newer + "." + c.metric.Key
	case Low:
		return c.metric.Key + ".low"
	case High:
		return c.metric.Key + ".high"
	}
	return c.metric.Key
}

// NeedsChange reports whether the expression asks for a change, its interval or
// a verdict, and not for values alone.
func (e *Expr) NeedsChange() bool {
	for c := range e.tree.Conditions() {
		if c.of != Old && c.of != New {
			return true
		}
	}
	return false
}

// Eval decides whether the expression holds.
func (e *Expr) Eval(v Values) Outcome {
	truth, by := e.tree.Decide(func(c *condition) expr.Truth {
		t, _ := c.eval(v)
		return t
	})
	out := Outcome{State: State(truth)}
	for _, c := range by {
		_, because := c.eval(v)
		out.Because = append(out.Because, because)
	}
	return out
}

func (c *condition) eval(v Values) (t expr.Truth, because string) {
	if c.relation == "" {
		got, missing := v.Verdict(c.metric.Key)
		if missing != "" {
			return expr.Unknown, c.metric.Key + " has no verdict: " + missing
		}
		if got == "different" && c.verdict != "different" {
			return expr.Unknown, c.metric.Key + " is different, and one run a side does not say better or worse"
		}
		held := got == c.verdict || c.verdict == "different" && (got == "better" || got == "worse")
		return expr.Of(held), c.metric.Key + " is " + got
	}
	x, missing := v.Number(c.metric.Key, c.of)
	if missing != "" || math.IsNaN(x) {
		return expr.Unknown, c.operand() + " is n/a: " + missing
	}
	return expr.Of(c.relation.Holds(x, c.limit)), c.operand() + " is " + c.format(x)
}

// format formats a number in the unit of the condition's limit, with enough digits to
// show on which side of the limit it lies.
func (c *condition) format(x float64) string {
	if math.IsInf(x, 0) { // an open end of an interval
		return map[bool]string{true: "+∞", false: "-∞"}[x > 0]
	}
	scale := c.written.Scale()
	s := strconv.FormatFloat(x/scale, 'f', -1, 64)
	if short := fmt.Sprintf("%.4g", x/scale); c.tells(short, scale, x) {
		s = short
	}
	if c.of != Old && c.of != New && x >= 0 {
		s = "+" + s
	}
	return s + c.written.Unit
}

// tells reports whether the shortened number is on the same side of the limit as x.
func (c *condition) tells(short string, scale, x float64) bool {
	v, err := strconv.ParseFloat(short, 64)
	return err == nil && !strings.Contains(short, "e") && c.relation.Holds(v*scale, c.limit) == c.relation.Holds(x, c.limit)
}

func (c *condition) percent() bool { return c.of != Old && c.of != New || c.metric.Kind == Share }
