package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Kind says what a metric's values are.
type Kind uint8

// Durations are nanoseconds, rates per second, shares from 0 to 1.
const (
	Duration Kind = 1
	Rate     Kind = 2
	Share    Kind = 3
)

// A Metric is a name that expressions may use.
type Metric struct {
	Key  string
	Kind Kind
	// Judged says that there are verdicts about it.
	Judged bool
}

// An Of says which number of a metric is meant.
type Of uint8

// The numbers of a metric.
const (
	Old    Of = 1
	New    Of = 2
	Change Of = 3 // new/old − 1
	Low    Of = 4 // lower end of the interval for the change
	High   Of = 5
)

// Values tells what came out.
type Values interface {
	// Number returns a number in the unit of the metric's Kind, changes and
	// their ends as ratios; or why there is none.
	Number(metric string, of Of) (v float64, missing string)
	// Verdict returns "better", "worse", "~" or another word, or why there is
	// none.
	Verdict(metric string) (v, missing string)
}

// A State is what an expression comes down to.
type State uint8

// The states, in the order of what && makes of them.
const (
	Clear   State = 0 // it does not hold
	Unknown State = 1 // what it asks for does not exist
	Tripped State = 2 // it holds
)

// String returns "passed", "n/a" or "failed": what a gate of this state did.
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
type Expr struct {
	node  node
	parts []*Expr // and, or

	metric  Metric
	of      Of
	op      string
	limit   float64
	text    string // the limit as it was written
	verdict string
}

type node uint8

const (
	and node = iota
	or
	compare
	judge
)

// String returns the expression in a form that Parse reads as the same.
func (e *Expr) String() string {
	switch e.node {
	case and, or:
		word := map[node]string{and: " && ", or: " || "}[e.node]
		var parts []string
		for _, p := range e.parts {
			s := p.String()
			if p.node == or && e.node == and || p.node == e.node {
				s = "(" + s + ")"
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, word)
	case judge:
		return e.metric.Key + " " + e.verdict
	}
	return e.operand() + e.op + e.text
}

func (e *Expr) operand() string {
	switch e.of {
	case Old:
		return "old." + e.metric.Key
	case New:
		return "new." + e.metric.Key
	case Low:
		return e.metric.Key + ".low"
	case High:
		return e.metric.Key + ".high"
	}
	return e.metric.Key
}

// NeedsChange reports whether the expression asks for a change, its interval or
// a verdict, and not for values alone.
func (e *Expr) NeedsChange() bool {
	switch e.node {
	case compare:
		return e.of != Old && e.of != New
	case judge:
		return true
	}
	return slices.ContainsFunc(e.parts, (*Expr).NeedsChange)
}

// Eval decides whether the expression holds.
func (e *Expr) Eval(v Values) Outcome {
	switch e.node {
	case compare:
		x, missing := v.Number(e.metric.Key, e.of)
		if missing != "" || x != x {
			return Outcome{Unknown, []string{e.operand() + " is n/a: " + missing}}
		}
		return Outcome{holds(meets(x, e.op, e.limit)), []string{e.operand() + " is " + e.format(x)}}
	case judge:
		got, missing := v.Verdict(e.metric.Key)
		if missing != "" {
			return Outcome{Unknown, []string{e.metric.Key + " has no verdict: " + missing}}
		}
		held := got == e.verdict || e.verdict == "different" && (got == "better" || got == "worse")
		return Outcome{holds(held), []string{e.metric.Key + " is " + got}}
	}
	outs := make([]Outcome, 0, len(e.parts))
	for _, p := range e.parts {
		outs = append(outs, p.Eval(v))
	}
	state := outs[0].State
	for _, o := range outs[1:] {
		if e.node == and {
			state = min(state, o.State)
		} else {
			state = max(state, o.State)
		}
	}
	result := Outcome{State: state}
	for _, o := range outs {
		if o.State == state {
			result.Because = append(result.Because, o.Because...)
		}
	}
	return result
}

func holds(b bool) State {
	if b {
		return Tripped
	}
	return Clear
}

func meets(x float64, op string, limit float64) bool {
	switch op {
	case "<":
		return x < limit
	case "<=":
		return x <= limit
	case ">":
		return x > limit
	}
	return x >= limit
}

// format writes a number as the expression's own limit is written, with digits
// enough to see on which side of it the number lies.
func (e *Expr) format(x float64) string {
	if math.IsInf(x, 0) { // an end of an interval that has none on that side
		return map[bool]string{true: "+∞", false: "-∞"}[x > 0]
	}
	if e.percent() {
		s := strconv.FormatFloat(100*x, 'f', -1, 64)
		if short := fmt.Sprintf("%.4g", 100*x); sameSide(short, 0.01, x, e) {
			s = short
		}
		if e.of != Old && e.of != New && x >= 0 {
			s = "+" + s
		}
		return s + "%"
	}
	unit, exponent := "", 0
	if e.metric.Kind == Duration {
		unit = strings.TrimLeft(e.text, "+-0123456789.")
		if unit == "" {
			unit = "ns"
		}
		exponent = unitExponents[unit]
	}
	scale := pow10(exponent)
	if short := fmt.Sprintf("%.4g", x/scale); sameSide(short, scale, x, e) {
		return short + unit
	}
	return strconv.FormatFloat(x/scale, 'f', -1, 64) + unit
}

// sameSide reports whether the shortened number tells the same as x.
func sameSide(short string, scale, x float64, e *Expr) bool {
	v, err := strconv.ParseFloat(short, 64)
	return err == nil && !strings.Contains(short, "e") && meets(v*scale, e.op, e.limit) == meets(x, e.op, e.limit)
}

func (e *Expr) percent() bool { return e.of != Old && e.of != New || e.metric.Kind == Share }

func pow10(n int) float64 {
	x := 1.0
	for range n {
		x *= 10
	}
	return x
}
