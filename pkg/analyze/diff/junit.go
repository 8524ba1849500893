package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// JUnit writes the comparison as JUnit XML, which CI systems show as tests. The first suite
// says whether the sides are comparable, and has the answer. A suite for each level has a case for each
// primary metric. The last suite has the gates, if there are any.
//
// Without gates, a metric that got worse is a failure. With gates, only gates fail. What the data cannot tell
// is skipped, with the reason; a gate is an error then if Options.InconclusiveFails is set.
func JUnit(r *Result) sheet.Renderer {
	all := []sheet.Suite{r.junitComparable()}
	for _, l := range r.allLevels() {
		all = append(all, r.junitLevel(l))
	}
	if len(r.Gates) > 0 {
		all = append(all, r.junitGates())
	}
	return sheet.JUnit(r.Headline(), all)
}

// junitComparable returns the suite that says whether the sides are comparable, and how
// their settings differ.
func (r *Result) junitComparable() sheet.Suite {
	c := sheet.Case{Class: "comparison", Name: "comparable"}
	var lines []string
	for i := range r.Differences {
		d := &r.Differences[i]
		at := ""
		if d.Level != "" {
			at = " at " + d.Level
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s %s, %s %s", d.Name, at, r.o.Sides.old(), short(d.Old), r.o.Sides.new(), short(d.New)))
	}
	if unknown := r.notKnown(); unknown != "" {
		lines = append([]string{unknown}, lines...)
	}
	c.Out = strings.Join(lines, "\n")
	if len(r.Refused()) > 0 || len(r.Levels) == 0 {
		c.Error = r.Headline()
	}
	answer := sheet.Case{Class: "comparison", Name: "answer"}
	switch headline := r.Headline(); r.Answer {
	case NotComparable:
		return sheet.Suite{Name: "comparison", Cases: []sheet.Case{c}}
	case CannotTell:
		answer.Skipped = headline
	case FailsMore, Worse, BetterAndWorse:
		if answer.Out = headline; len(r.Gates) == 0 {
			answer.Out, answer.Failure = "", headline
		}
	default:
		if answer.Out = headline; r.lacking() != "" { // the answer is not about all levels
			answer.Out, answer.Skipped = "", headline
		}
	}
	return sheet.Suite{Name: "comparison", Cases: []sheet.Case{c, answer}}
}

// junitLevel returns the suite of a level: a case for each primary metric.
func (r *Result) junitLevel(l *LevelResult) sheet.Suite {
	u := r.units()
	name := l.Name
	s := sheet.Suite{Name: name}
	for i := range l.Rows {
		row := &l.Rows[i]
		if !row.Primary {
			continue
		}
		text := fmt.Sprintf("%s to %s, %s", u.Amount(row.Metric, row.Old.Value), u.Amount(row.Metric, row.New.Value), row.changed())
		if ends := row.interval(); ends != "" && ends != "n/a" {
			text += " (" + strings.Replace(ends, " ", " to ", 1) + ")"
		}
		text = row.Metric.Name + ": " + text
		c := sheet.Case{Class: name, Name: row.Metric.Key, Out: text}
		switch {
		case row.Verdict == inference.NotAvailable:
			c.Skipped = cmp.Or(l.reasonOf(row), "no verdict")
		case row.Verdict == inference.NoDifference && row.Metric.of == failedShare:
			if why := l.failures.doubt(l); why != "" {
				c.Skipped = "cannot tell: " + why
			}
		case row.Verdict == inference.NoDifference && !row.inMargin():
			c.Skipped = "cannot tell: " + row.mayMatter()
		case row.Verdict == inference.Worse && len(r.Gates) == 0:
			c.Failure = text
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// junitGates returns the suite of the gates: a case for each gate at each level.
func (r *Result) junitGates() sheet.Suite {
	s := sheet.Suite{Name: "gates"}
	for i := range r.Gates {
		g := &r.Gates[i]
		c := sheet.Case{Class: "gates", Name: g.title() + r.at(g.Level)}
		because := g.outcome() + ": " + strings.Join(g.Because, ", ")
		switch g.State {
		case gate.Tripped:
			c.Failure = because
		case gate.Unknown:
			if c.Skipped = because; r.o.InconclusiveFails {
				c.Skipped, c.Error = "", because
			}
		case gate.Clear:
			c.Out = because
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// outcome returns the state for people: "cannot tell" instead of "n/a", as in the answer.
func (g *GateResult) outcome() string {
	if g.State == gate.Unknown {
		return "cannot tell"
	}
	return g.State.String()
}

// title returns the gate as people read it: its condition, after "require" if it must hold.
func (g *GateResult) title() string {
	if g.Required {
		return "require " + g.Expr
	}
	return g.Expr
}
