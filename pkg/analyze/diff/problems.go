package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
)

// Incomparable returns an error that names what makes the sides incomparable; nil if
// they can be compared.
func (r *Result) Incomparable() error {
	if len(r.Levels) == 0 {
		return fmt.Errorf("no load level in common: %s has %s, %s has %s; if each side has one level, --ignore load compares them",
			r.o.Sides.old(), sanitize.Text(strings.Join(r.OldOnly, ", ")), r.o.Sides.new(), sanitize.Text(strings.Join(r.NewOnly, ", ")))
	}
	var errs []error
	for _, d := range r.Refused() {
		at := ""
		if d.Level != "" {
			at = " at " + d.Level
		}
		because := ""
		if d.Name == inputTokens || d.Name == outputTokens {
			because = r.otherParameters()
		}
		errs = append(errs, errors.New(sanitize.Text(fmt.Sprintf("not comparable: %s%s: %s %s, %s %s%s; use --ignore %s to compare anyway", d.Name, at, r.o.Sides.old(), d.Old, r.o.Sides.new(), d.New, because, d.Name))))
	}
	return errors.Join(errs...)
}

// otherParameters names the parameters of requests that differ, which may be why numbers
// of tokens do; "" for none.
func (r *Result) otherParameters() string {
	i := slices.IndexFunc(r.Differences, func(d Difference) bool { return d.Name == parameters })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" (perhaps because of the parameters: %s %s, %s %s)", r.o.Sides.old(), r.Differences[i].Old, r.o.Sides.new(), r.Differences[i].New)
}

// Unmeasured returns an error that names the levels with nothing to compare; nil if
// there are none. Failed requests are not enough.
func (r *Result) Unmeasured() error {
	var errs []error
	for i := range r.Levels {
		if why := r.Levels[i].Nothing(); why != "" {
			errs = append(errs, fmt.Errorf("%s: nothing to compare: %s", sanitize.Text(r.Levels[i].Name), sanitize.Text(why)))
		}
	}
	return errors.Join(errs...)
}

// GateFailures returns an error that names each gate that was shown to fail, with the reason; nil if there
// is none.
func (r *Result) GateFailures() error {
	return r.gateErrors(gate.Tripped, "")
}

// GateDoubts returns an error that names each gate about which the data cannot tell, with the reason; nil if
// there is none.
func (r *Result) GateDoubts() error { return r.gateErrors(gate.Unknown, "cannot tell: ") }

func (r *Result) gateErrors(state gate.State, words string) error {
	var errs []error
	for i := range r.Gates {
		if g := &r.Gates[i]; g.State == state {
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
