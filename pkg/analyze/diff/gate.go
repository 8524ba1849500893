package diff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A GateResult is the outcome of a condition at one load level.
type GateResult struct {
	Expr  string
	Level string // its name
	// Required is set for a condition that must hold, and not set for one that must not. The state
	// Tripped means for both that the gate failed.
	Required bool
	GateOutcome
}

// Gate evaluates conditions that must not hold at any level and keeps the outcomes in Gates. It reports
// whether all passed: no condition holds, and every outcome is known.
//
// A condition does not pass for lack of data, so that a server that no longer gets
// through a level fails. At a level that only one side has, every outcome is Unknown. At
// a level that some runs of a side lack, and when a run is compared with itself, Clear
// becomes Unknown; Tripped stays.
func (res *Result) Gate(exprs []*GateExpr) (passed bool) { return res.evaluate(exprs, false) }

// Require evaluates conditions that must hold at every level, as Gate does.
func (res *Result) Require(exprs []*GateExpr) (passed bool) { return res.evaluate(exprs, true) }

func (res *Result) evaluate(exprs []*GateExpr, required bool) (passed bool) {
	passed = true
	keep := func(e *GateExpr, level string, out GateOutcome) {
		res.Gates = append(res.Gates, &GateResult{e.String(), level, required, out})
		passed = passed && out.State == GateClear
	}
	for _, e := range exprs {
		eval := e.eval
		if required {
			eval = e.require
		}
		if res.Together != nil && e.needsVerdict() {
			// A change that no level shows by itself, or the average of changes that matter to none.
			if out := eval(&gateValues{res, res.Together}); out.State == GateTripped {
				keep(e, res.Together.Name, out)
			}
		}
		for _, l := range res.Levels {
			out := eval(&gateValues{res, l})
			if why := res.unfit(l); why != "" && out.State == GateClear {
				out = GateOutcome{State: GateUnknown, Because: []string{why}}
			}
			keep(e, l.Name, out)
		}
		for _, only := range [...]struct {
			side   string
			levels []string
		}{{res.o.Sides.old(), res.OldOnly}, {res.o.Sides.new(), res.NewOnly}} {
			for _, level := range only.levels {
				keep(e, level, GateOutcome{State: GateUnknown, Because: []string{"only the " + only.side + " side has this level; --experiment chooses levels"}})
			}
		}
	}
	return passed
}

// unfit returns why a condition that does not hold at a level has not passed; ""
// if it has.
func (res *Result) unfit(l *LevelDiff) string {
	if res.itself != "" {
		return res.itself
	}
	for _, side := range [...]struct {
		name     string
		has, all int
	}{{res.o.Sides.old(), len(l.Old), len(res.Old)}, {res.o.Sides.new(), len(l.New), len(res.New)}} {
		if side.has < side.all {
			return fmt.Sprintf("only %d of %d %s runs %s this level; --experiment chooses levels", side.has, side.all, side.name, plural.Form(side.has, "has", "have"))
		}
	}
	return ""
}

// gateValues gives expressions the values of a level.
type gateValues struct {
	res *Result
	*LevelDiff
}

var _ gateSource = (*gateValues)(nil)

const noValue = "neither side has a value"

// Number implements gateSource.
func (l *gateValues) Number(metric string, which operand) (v float64, missing string) {
	r := l.row(metric)
	if r == nil {
		return 0, noValue
	}
	switch which {
	case ofOld:
		v = r.Old.Value
	case ofNew:
		v = r.New.Value
	case ofChange:
		v = r.Change
	default:
		if r.Spoiled != "" {
			return 0, r.Spoiled
		}
		i := r.Shown()
		v = i.Low
		if which == ofHigh {
			v = i.High
		}
	}
	switch {
	case !math.IsNaN(v):
		return v, ""
	case r.NA.Missing() && (which != ofChange || r.Metric.of != failedShare):
		return 0, r.reason()
	}
	return 0, fmt.Sprintf("there is no ratio to 0; give a limit for %s.%s", l.sides.new(), metric)
}

// Verdict implements gateSource. A word is shown not to hold only if the change in its direction is less
// than the margin: a metric about which nothing is known is not "not worse". Times and rates of requests
// that succeeded make a side that fails more neither better nor equal.
func (l *gateValues) Verdict(metric, word string) (state GateState, because string) {
	r := l.judged(metric)
	if r == nil {
		return GateUnknown, metric + " has no verdict: " + noValue
	}
	name := r.Metric.Key
	if l.Answer == FailsMore && word != "better" && r.Metric.of != failedShare {
		return GateTripped, l.sides.new() + " fails more: " + l.failed()
	}
	switch v := l.direction(r); v {
	case inference.NotAvailable:
		why := l.reasonOf(r)
		if !r.Primary && r.Metric.IsRate() {
			why = fmt.Sprintf("a rate is judged from %d completed requests a side on", minCompletions)
		}
		return GateUnknown, name + " cannot be judged: " + why
	case inference.Different:
		if word != "different" {
			return GateUnknown, name + " is different, and one run a side does not say better or worse"
		}
		return GateTripped, name + " is different: " + r.difference()
	case inference.Better, inference.Worse:
		by := l.failed()
		if r.Metric.of != failedShare {
			by = r.difference()
		}
		return stateOf(word == v.String() || word == "different"), name + " is " + v.String() + ": " + by
	case inference.NoDifference:
	}
	if r.Metric.of == failedShare {
		if why := l.failures.doubt(l.LevelDiff); why != "" {
			return GateUnknown, why
		}
		return GateClear, name + " is not shown to be " + word + ": " + l.failed()
	}
	return l.undecided(r, word)
}

// undecided decides about a word for a metric without a difference.
func (l *gateValues) undecided(r *Row, word string) (state GateState, because string) {
	bad := r.Metric.badEnds(r.bound)
	small := map[string]bool{
		"worse": bad.High < r.margin, "better": bad.Low > 1/(1+r.margin)-1, "different": within(r.bound, r.margin),
	}
	margin := percent(r.margin)
	if r.Equal || small[word] {
		return GateClear, fmt.Sprintf("%s is not %s by %s or more", r.Metric.Key, word, margin)
	}
	if t := l.res.Together; t != nil && t != l.LevelDiff {
		if over := t.row(r.Metric.Key); over != nil && over.Verdict == inference.NoDifference {
			if state, _ := (&gateValues{l.res, t}).undecided(over, word); state == GateClear {
				return GateClear, fmt.Sprintf("%s is not %s by %s or more over %s", r.Metric.Key, word, margin, t.Name)
			}
		}
	}
	return GateUnknown, fmt.Sprintf("%s may be %s by %s or more: %s %s", r.Metric.Key, word, margin, r.point(), r.span(*r.shown))
}

// judged returns the row that is judged for a metric: of single runs, a mean may be judged in place of the
// median.
func (l *gateValues) judged(metric string) *Row {
	r := l.row(metric)
	if r == nil || r.Primary {
		return r
	}
	for _, x := range l.Rows {
		if x.Primary && x.Metric.of == r.Metric.of {
			return x
		}
	}
	return r
}

// direction returns the verdict of a row, for single runs with a direction if the user asked for that.
func (l *gateValues) direction(r *Row) inference.Verdict {
	v := r.Verdict
	if v != inference.Different || !l.res.o.SingleRun || r.Metric.Direction == inference.NoDirection {
		return v
	}
	if (r.Change < 0) == (r.Metric.Direction == inference.LowerIsBetter) {
		return inference.Better
	}
	return inference.Worse
}

// Within implements gateSource.
func (l *gateValues) Within(metric string, margin float64) (state GateState, because string) {
	if metric != allMetrics {
		r := l.row(metric)
		if r == nil {
			return GateUnknown, metric + " is n/a: " + noValue
		}
		return l.withinOf(r, margin)
	}
	state, judged := GateTripped, []string(nil)
	for _, r := range l.Rows {
		if !r.Primary {
			continue
		}
		switch s, why := l.withinOf(r, margin); {
		case s == GateClear:
			return s, why
		case s == GateUnknown && state == GateTripped:
			state, because = s, why
		}
		judged = append(judged, r.Metric.Key)
	}
	switch {
	case judged == nil:
		return GateUnknown, "no metric is judged: " + noValue
	case state == GateTripped:
		because = fmt.Sprintf("%s are within %s", strings.Join(judged, ", "), percent(margin))
	}
	return state, because
}

// withinOf decides whether a metric was shown to be within a margin in its bad direction. State Tripped
// means that it was.
func (l *gateValues) withinOf(r *Row, margin float64) (state GateState, because string) {
	key, by := r.Metric.Key, percent(margin)
	switch {
	case l.Answer == FailsMore:
		return GateClear, l.sides.new() + " fails more: " + l.failed()
	case r.Metric.of == failedShare:
		if why := l.failures.doubt(l.LevelDiff); why != "" || !l.failures.known {
			return GateUnknown, cmp.Or(why, "the shares of failed requests are not known")
		}
		return GateTripped, key + " is not shown to be worse: " + l.failed()
	case r.Spoiled != "":
		return GateUnknown, key + " cannot be judged: " + r.Spoiled
	case r.Equal:
		return GateTripped, key + " is equal in all runs"
	case r.NA.Missing() && !r.steady:
		return GateUnknown, key + " cannot be judged: " + l.reasonOf(r)
	}
	shown, bound := *r.shown, r.bound
	if r.NA.Missing() {
		shown, bound = inference.Interval{Low: r.Change, High: r.Change}, inference.Interval{Low: r.Change, High: r.Change}
	}
	outside, inside := r.Metric.badEnds(shown), r.Metric.badEnds(bound)
	if r.Metric.Direction == inference.NoDirection { // any change is bad
		inside.High = reach(bound)
		outside.Low = math.Max(shown.Low, 1/(1+shown.High)-1)
	}
	text := r.point() + " " + r.span(shown)
	switch {
	case inside.High < margin:
		return GateTripped, fmt.Sprintf("%s is within %s: %s", key, by, text)
	case outside.Low > margin:
		return GateClear, fmt.Sprintf("%s is outside %s: %s", key, by, text)
	}
	return GateUnknown, fmt.Sprintf("%s may be outside %s: %s", key, by, text)
}

func stateOf(holds bool) GateState {
	if holds {
		return GateTripped
	}
	return GateClear
}

// GateFailures returns an error that names each gate that was shown to fail, with the reason; nil if there
// is none.
func (r *Result) GateFailures() error {
	return r.gateErrors(GateTripped, "")
}

// GateDoubts returns an error that names each gate about which the data cannot tell, with the reason; nil if
// there is none.
func (r *Result) GateDoubts() error { return r.gateErrors(GateUnknown, "cannot tell: ") }

func (r *Result) gateErrors(state GateState, words string) error {
	var errs []error
	for _, g := range r.Gates {
		if g.State == state {
			errs = append(errs, fmt.Errorf("%s %s%s: %s%s", g.flag(), g.Expr, r.at(g.Level), words, strings.Join(g.Because, ", ")))
		}
	}
	return errors.Join(errs...)
}

// flag returns the flag of pa-analyze that made the gate.
func (g *GateResult) flag() string {
	if g.Required {
		return "--require"
	}
	return "--fail-on"
}
