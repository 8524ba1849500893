package analyze_test

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A projectedReader is a run without its outputs, as after a rewrite that left the column out. It has derived
// values, which edit changes.
type projectedReader struct {
	*memrun.Reader
	whole   *memrun.Reader
	deriver *answer.Deriver
	edit    func(d *export.Derived)
	derived *export.Derived // nil: damaged
	need    export.Need
}

func newProjected(edit func(d *export.Derived)) *projectedReader {
	r := &projectedReader{edit: edit}
	r.Begin(export.Need{})
	return r
}

func (r *projectedReader) Next() bool {
	if !r.Reader.Next() || !r.whole.Next() {
		return false
	}
	r.derived = r.deriver.Derive(r.whole.Request())
	r.edit(r.derived)
	if r.derived.ITLEvents.V < 0 {
		r.derived = nil
	}
	return true
}

func (r *projectedReader) Preview() *export.Run { return r.Run() }
func (r *projectedReader) Batch() export.Batch  { return nil }

func (r *projectedReader) Stored() *export.Stored {
	return &export.Stored{Derivation: r.deriver.Derivation()}
}

func (r *projectedReader) Row() export.Row {
	row := export.Row{Request: r.Request(), Derived: r.derived}
	if r.need.Check != export.CheckNone {
		row.Check = export.CheckedRequest{Request: row.Request, Derived: r.derived, Outputs: true}
	}
	return row
}

func (r *projectedReader) Begin(need export.Need) bool {
	spec := memrun.Spec{Name: "run", TTFT: 20, ITL: 5}
	r.Reader, r.whole, r.need = spec.Reader(), spec.Reader(), need
	for i := range r.Requests[0] {
		q := &r.Requests[0][i]
		q.NoOutputs = true
		for k := range q.Responses {
			q.Responses[k].Outputs = nil
		}
	}
	r.deriver = answer.NewDeriver(r.whole.Run())
	return false
}

// A file without its outputs keeps its figures, which are said not to be verified. Its times are checked.
func TestStoredWithoutOutputs(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		edit func(d *export.Derived)
		want string // in the second warning
		ok   int    // requests with a TTFT
	}{
		"honest":   {func(*export.Derived) {}, "", 10},
		"rescaled": {func(d *export.Derived) { d.TTFT.V /= 2 }, "contradict the recorded times: request 0 (timestamp 1700000000000000000) has ttft_ns 10000000, computed 20000000;", 10},
		"counts":   {func(d *export.Derived) { d.OutputTokens.V = 9 }, "has output_tokens 9, computed 4;", 10},
		"damaged":  {func(d *export.Derived) { d.ITLEvents.V = -1 }, "request 0 (timestamp 1700000000000000000) lacks them, or has damaged ones;", 0},
	} {
		for _, verify := range []bool{false, true} {
			rep, err := analyze.Run(t.Context(), newProjected(x.edit), analyze.Config{Verify: verify})
			if err != nil {
				t.Fatal(err)
			}
			e := &rep.Experiments[0]
			n := 0
			if s := e.Metric(answer.TTFT); s != nil {
				if n = s.N; s.Min != 20e6 || s.Max != 20e6 {
					t.Errorf("%s: TTFT %+v", name, s)
				}
			}
			if e.OK != 10 || n != x.ok || n > 0 && e.TokenEvents != 40 {
				t.Errorf("%s: %d requests, %d with a TTFT, %d token events", name, e.OK, n, e.TokenEvents)
			}
			var texts []string
			for _, w := range rep.Contradictions() {
				texts = append(texts, w.Error())
			}
			all := strings.Join(texts, "\n")
			if !strings.Contains(all, "are from derived columns and are not verified") || strings.Contains(all, "contradict") != (x.want != "") || !strings.Contains(all, x.want) {
				t.Errorf("%s, verify %v: %s", name, verify, all)
			}
			for _, w := range e.Warnings {
				if strings.Contains(w.Error(), "disk") {
					t.Errorf("%s: %v", name, w)
				}
			}
		}
	}
}
