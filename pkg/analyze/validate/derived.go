package validate

import (
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// findDerived sets v.checker if the derived columns of r can be computed again and compared, and
// else v.NotCompared to the reason.
func (v *validator) findDerived(r export.Reader, cfg Config) {
	stored := export.StoredIn(r)
	if stored == nil {
		return
	}
	checker, err := answer.NewChecker(r.Run(), stored.Derivation, cfg.Counter, cfg.Tokenizer)
	if err != nil {
		v.NotCompared = err.Error()
		return
	}
	v.checker = checker
}

// derived compares the derived columns of a request with its responses.
func (v *validator) derived(row *export.Row) {
	if v.checker == nil {
		return
	}
	switch d := v.checker.Check(row.Request, row.Derived); {
	case d == nil:
	case d.Column == "":
		v.say("the derived columns are missing")
	default:
		v.say("column %s does not match the responses; pa-analyze convert computes it again", d.Column)
	}
}
