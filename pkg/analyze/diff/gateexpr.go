package diff

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

// An operand selects a number of a metric.
type operand uint8

// The numbers of a metric.
const (
	ofOld    operand = 1
	ofNew    operand = 2
	ofChange operand = 3 // new/old − 1
	ofLow    operand = 4 // lower end of the interval that is shown for the change
	ofHigh   operand = 5
)

// allMetrics is the name that stands for all judged metrics in "all within 3%".
const allMetrics = "all"

// gateSource gives expressions the numbers and verdicts of a comparison.
type gateSource interface {
	// Number returns a number in the unit of the metric, changes and
	// their ends as ratios; or why there is none.
	Number(metric string, of operand) (v float64, missing string)
	// Verdict decides whether the metric is "better", "worse" or "different", and says what
	// decided it. GateClear means that the word was shown not to hold, or not to matter.
	Verdict(metric, word string) (state GateState, because string)
	// Within decides whether the metric, or [allMetrics], was shown to change by less than margin in
	// its bad direction, and says what decided it. GateClear means that it was shown to change by
	// more.
	Within(metric string, margin float64) (state GateState, because string)
}

// A GateState is the result of an expression.
type GateState uint8

// The states of an expression.
const (
	GateClear   = GateState(expr.False)   // it does not hold
	GateUnknown = GateState(expr.Unknown) // a number or verdict of it does not exist
	GateTripped = GateState(expr.True)    // it holds
)

// String returns "passed", "n/a" or "failed": the result of a gate in this state.
func (s GateState) String() string {
	switch s {
	case GateClear:
		return "passed"
	case GateUnknown:
		return "n/a"
	case GateTripped:
		return "failed"
	}
	return "invalid(" + strconv.Itoa(int(s)) + ")"
}

// A GateOutcome is a state and the findings that led to it, one for each condition
// of that state.
type GateOutcome struct {
	State   GateState
	Because []string
}

// A GateExpr is an expression that was read by [Options.ParseGate]. It may be used
// concurrently.
type GateExpr struct{ tree *expr.Expr[condition] }

// A condition compares a number of a metric, or asks for its verdict.
type condition struct {
	metric Metric
	of     operand

	older, newer string // names of the sides

	relation expr.Relation // "" for a verdict
	limit    float64
	written  expr.Quantity // the limit

	verdict string // "within" has a limit
}

// String returns the expression in a form that ParseGate reads as the same.
func (e *GateExpr) String() string { return e.tree.String() }

// String returns the condition without needless blanks.
func (c condition) String() string {
	switch {
	case c.verdict == withinWord:
		return c.metric.Key + " " + withinWord + " " + c.written.String()
	case c.relation == "":
		return c.metric.Key + " " + c.verdict
	}
	return c.operand() + string(c.relation) + c.written.String()
}

func (c *condition) operand() string {
	switch c.of {
	case ofOld:
		return c.older + "." + c.metric.Key
	case ofNew:
		return c.newer + "." + c.metric.Key
	case ofLow:
		return c.metric.Key + ".low"
	case ofHigh:
		return c.metric.Key + ".high"
	}
	return c.metric.Key
}

// NeedsChange reports whether the expression asks for a change, its interval or
// a verdict, and not for values alone.
func (e *GateExpr) NeedsChange() bool {
	for c := range e.tree.Conditions() {
		if c.of != ofOld && c.of != ofNew {
			return true
		}
	}
	return false
}

// require decides whether the expression holds, for a gate that passes if it does: its state is
// GateClear if the expression holds, and GateTripped if it does not.
func (e *GateExpr) require(v gateSource) GateOutcome {
	out := e.eval(v)
	switch out.State {
	case GateClear:
		out.State = GateTripped
	case GateTripped:
		out.State = GateClear
	case GateUnknown:
	}
	return out
}

// needsVerdict reports whether the expression asks for a verdict.
func (e *GateExpr) needsVerdict() bool {
	for c := range e.tree.Conditions() {
		if c.relation == "" && c.verdict != withinWord {
			return true
		}
	}
	return false
}

// eval decides whether the expression holds.
func (e *GateExpr) eval(v gateSource) GateOutcome {
	truth, by := e.tree.Decide(func(c *condition) expr.Truth {
		t, _ := c.eval(v)
		return t
	})
	out := GateOutcome{State: GateState(truth)}
	for _, c := range by {
		_, because := c.eval(v)
		out.Because = append(out.Because, because)
	}
	return out
}

func (c *condition) eval(v gateSource) (t expr.Truth, because string) {
	if c.relation == "" {
		decide := func() (GateState, string) { return v.Verdict(c.metric.Key, c.verdict) }
		if c.verdict == withinWord {
			decide = func() (GateState, string) { return v.Within(c.metric.Key, c.limit) }
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
	if c.of != ofOld && c.of != ofNew && x >= 0 {
		s = "+" + s
	}
	return s + c.written.Unit
}

// tells reports whether the shortened number is on the same side of the limit as x.
func (c *condition) tells(short string, scale, x float64) bool {
	v, err := strconv.ParseFloat(short, 64)
	return err == nil && !strings.Contains(short, "e") && c.relation.Holds(v*scale, c.limit) == c.relation.Holds(x, c.limit)
}

func (c *condition) percent() bool {
	return c.of != ofOld && c.of != ofNew || c.metric.Unit == Share
}
