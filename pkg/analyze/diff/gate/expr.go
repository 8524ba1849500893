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

// All is the name that stands for all judged metrics in "all within 3%".
const All = "all"

// Values gives expressions the numbers and verdicts of a comparison.
type Values interface {
	// Number returns a number in the unit of the metric's Kind, changes and
	// their ends as ratios; or why there is none.
	Number(metric string, of Of) (v float64, missing string)
	// Verdict decides whether the metric is "better", "worse" or "different", and says what
	// decided it. Clear means that the word was shown not to hold, or not to matter.
	Verdict(metric, word string) (state State, because string)
	// Within decides whether the metric, or [All], was shown to change by less than margin in
	// its bad direction, and says what decided it. Clear means that it was shown to change by
	// more.
	Within(metric string, margin float64) (state State, because string)
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

	verdict string // "within" has a limit
}

// String returns the expression in a form that Parse reads as the same.
func (e *Expr) String() string { return e.tree.String() }

// String returns the condition without needless blanks.
func (c condition) String() string {
	switch {
	case c.verdict == within:
		return c.metric.Key + " " + within + " " + c.written.String()
	case c.relation == "":
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

// Require decides whether the expression holds, for a gate that passes if it does: its state is
// Clear if the expression holds, and Tripped if it does not.
func (e *Expr) Require(v Values) Outcome {
	out := e.Eval(v)
	switch out.State {
	case Clear:
		out.State = Tripped
	case Tripped:
		out.State = Clear
	case Unknown:
	}
	return out
}

// NeedsVerdict reports whether the expression asks for a verdict.
func (e *Expr) NeedsVerdict() bool {
	for c := range e.tree.Conditions() {
		if c.relation == "" && c.verdict != within {
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
		decide := func() (State, string) { return v.Verdict(c.metric.Key, c.verdict) }
		if c.verdict == within {
			decide = func() (State, string) { return v.Within(c.metric.Key, c.limit) }
		}
		state, because := decide()
		return expr.Truth(state), because
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
