package diff

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A GateResult is the outcome of a condition at one load level.
type GateResult struct {
	Expr  string
	Level string // its name
	gate.Outcome
}

// Gate evaluates conditions at each level and keeps the outcomes in Gates. It reports
// whether all passed: no condition holds, and every outcome is known.
//
// A condition does not pass for lack of data, so that a server that no longer gets
// through a level fails. At a level that only one side has, every outcome is Unknown. At
// a level that some runs of a side lack, and when a run is compared with itself, Clear
// becomes Unknown; Tripped stays.
func (res *Result) Gate(exprs []*gate.Expr) (passed bool) {
	passed = true
	keep := func(e *gate.Expr, level string, out gate.Outcome) {
		res.Gates = append(res.Gates, GateResult{e.String(), level, out})
		passed = passed && out.State == gate.Clear
	}
	for _, e := range exprs {
		for i := range res.Levels {
			l := &res.Levels[i]
			out := e.Eval((*gateValues)(l))
			if why := res.unfit(l); why != "" && out.State == gate.Clear {
				out = gate.Outcome{State: gate.Unknown, Because: []string{why}}
			}
			keep(e, l.Name, out)
		}
		for _, only := range [...]struct {
			side   string
			levels []string
		}{{res.o.Sides.old(), res.OldOnly}, {res.o.Sides.new(), res.NewOnly}} {
			for _, level := range only.levels {
				keep(e, level, gate.Outcome{State: gate.Unknown, Because: []string{"only the " + only.side + " side has this level; --experiment chooses levels"}})
			}
		}
	}
	return passed
}

// unfit returns why a condition that does not hold at a level has not passed; ""
// if it has.
func (res *Result) unfit(l *LevelResult) string {
	if res.itself != "" {
		return res.itself
	}
	for _, side := range [...]struct {
		name     string
		has, all int
	}{{res.o.Sides.old(), len(l.Old), len(res.Old)}, {res.o.Sides.new(), len(l.New), len(res.New)}} {
		if side.has < side.all {
			return fmt.Sprintf("only %d of %d %s runs have this level; --experiment chooses levels", side.has, side.all, side.name)
		}
	}
	return ""
}

// gateValues gives expressions the values of a level.
type gateValues LevelResult

var _ gate.Values = (*gateValues)(nil)

func (l *gateValues) row(metric string) *Row {
	for i := range l.Rows {
		if l.Rows[i].Metric.Key == metric {
			return &l.Rows[i]
		}
	}
	return nil
}

const noValue = "neither side has a value"

// Number implements gate.Values.
func (l *gateValues) Number(metric string, of gate.Of) (v float64, missing string) {
	r := l.row(metric)
	if r == nil {
		return 0, noValue
	}
	switch of {
	case gate.Old:
		v = r.Old.Value
	case gate.New:
		v = r.New.Value
	case gate.Change:
		v = r.Change
	default:
		if r.Spoiled != "" {
			return 0, r.Spoiled
		}
		i := r.Shown()
		v = i.Low
		if of == gate.High {
			v = i.High
		}
	}
	switch {
	case !math.IsNaN(v):
		return v, ""
	case r.NA.Missing():
		return 0, r.reason()
	}
	return 0, "there is no ratio to 0"
}

// Verdict implements gate.Values.
func (l *gateValues) Verdict(metric string) (v, missing string) {
	r := l.row(metric)
	switch {
	case r == nil:
		return "", noValue
	case r.Spoiled != "":
		return "", r.Spoiled
	case r.Verdict == inference.NotAvailable:
		return "", r.reason()
	}
	return r.Verdict.String(), ""
}
