package analyze

import (
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// storedAnswers returns r if its file holds the content of the answers and that is what
// cfg asks for, and makes r leave out their texts; else nil.
func storedAnswers(r export.Reader, cfg Config) export.DerivedReader {
	d, ok := r.(export.DerivedReader)
	if !ok || cfg.Series { // a Series compares the inputs
		return nil
	}
	c := cfg.PerRequest()
	how, ok := d.Derivation()
	if !ok || !c.Matches(how) {
		return nil
	}
	d.WithoutAnswers()
	return d
}

// storedModel returns the model that a file with stored answers names.
func storedModel(r export.DerivedReader) (model string, ok bool) {
	if r == nil {
		return "", false
	}
	how, ok := r.Derivation()
	return how.Model, ok
}

// measure measures a request by its stored answer, or decodes it.
func measure(m *answer.Meter, q *export.Request, stored export.DerivedReader) *answer.Measured {
	if stored == nil {
		return m.Measure(q)
	}
	d := stored.Derived()
	if d == nil { // a damaged row, of which the reader warns: its tokens are not known
		q.OutputsDropped = true
		return m.Measure(q)
	}
	return m.MeasureDerived(q, d)
}
