package validate

import (
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// findDerived sets v.stored and v.checker if the derived columns of r can be computed again
// and compared, and else v.NotCompared to the reason.
func (v *validator) findDerived(r export.Reader, cfg Config) {
	stored, ok := r.(export.DerivedReader)
	if !ok {
		return
	}
	derivation, ok := stored.Derivation()
	if !ok {
		return
	}
	checker, err := answer.NewChecker(r.Run(), derivation, cfg.Counter, cfg.Tokenizer)
	if err != nil {
		v.NotCompared = err.Error()
		return
	}
	v.stored, v.checker = stored, checker
}

// derived compares the derived columns of a request with its responses.
func (v *validator) derived(q *export.Request) {
	if v.stored == nil {
		return
	}
	switch d := v.checker.Check(q, v.stored.Derived()); {
	case d == nil:
	case d.Column == "":
		v.say("the derived columns are missing")
	default:
		v.say("column %s does not match the responses; pa-analyze convert computes it again", d.Column)
	}
}
