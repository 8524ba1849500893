package analyze

import (
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// storedAnswers returns r as a DerivedReader if the derived values of its file match cfg;
// else nil. It makes that reader skip the texts of the answers.
func storedAnswers(r export.Reader, cfg Config) export.DerivedReader {
	d, ok := r.(export.DerivedReader)
	// Points in the order of time have a hash of the inputs, which are not read then.
	if !ok || cfg.follows() {
		return nil
	}
	c := cfg.PerRequest()
	derivation, ok := d.Derivation()
	if !ok || !c.Matches(derivation) {
		return nil
	}
	d.WithoutAnswers()
	if b, ok := r.(export.BriefReader); ok && !cfg.keeps() {
		b.WithoutResponses()
	}
	return d
}

// storedModel returns the model that the first request of r names, from the metadata of the
// file. ok is false if r is nil.
func storedModel(r export.DerivedReader) (model string, ok bool) {
	if r == nil {
		return "", false
	}
	derivation, ok := r.Derivation()
	return derivation.Model, ok
}

// measureDerived measures q by its stored answer d; nil for a damaged row.
func measureDerived(m *answer.Meter, q *export.Request, d *export.Derived) *answer.Measured {
	if d == nil { // the reader warns, and the tokens are unknown
		q.OutputsDropped = true
		return m.Measure(q)
	}
	return m.MeasureDerived(q, d)
}
