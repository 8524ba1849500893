package validate

import (
	"testing"

	"github.com/pa-tools/pa/internal/memrun"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A derivedReader is a run in memory with derived columns, of which change makes wrong ones.
type derivedReader struct {
	*memrun.Reader
	how     export.Derivation
	deriver *answer.Deriver
	change  func(*export.Derived)
}

func (r *derivedReader) Derivation() (export.Derivation, bool) { return r.how, true }
func (r *derivedReader) WithoutAnswers()                       {}
func (r *derivedReader) Derived() *export.Derived {
	d := r.deriver.Derive(r.Request())
	r.change(d)
	return d
}

func TestDerived(t *testing.T) {
	no := false
	for column, change := range map[string]func(*export.Derived){
		"":                  func(*export.Derived) {},
		"token_events":      func(d *export.Derived) { d.Events = d.Events[1:] },
		"streamed":          func(d *export.Derived) { d.Streamed = &no },
		"stream_error":      func(d *export.Derived) { d.Failure = "x" },
		"events_assumed":    func(d *export.Derived) { d.Assumed = !d.Assumed },
		"unreadable_events": func(d *export.Derived) { d.Unreadable++ },
		"token_source":      func(d *export.Derived) { d.TokenSource = "usage" },
		"input_tokens":      func(d *export.Derived) { d.InputTokens = export.Count{V: 1, OK: true} },
		"output_tokens":     func(d *export.Derived) { d.OutputTokens.V++ },
		"reasoning_tokens":  func(d *export.Derived) { d.ReasoningTokens = export.Count{V: 1, OK: true} },
		"cached_tokens":     func(d *export.Derived) { d.CachedTokens = export.Count{V: 1, OK: true} },
		"error_class":       func(d *export.Derived) { d.Class = "x" },
		"ttft_ns":           func(d *export.Derived) { d.TTFT.V++ },
		"e2el_ns":           func(d *export.Derived) { d.E2EL.V++ },
		"itl_ns":            func(d *export.Derived) { d.ITL = nil },
	} {
		for _, version := range []int{answer.Definitions, answer.Definitions + 1} {
			run := &memrun.Reader{
				Header:   export.Run{Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}},
				Requests: [][]export.Request{{at(1000, 1010, 1020, 1040)}},
			}
			r := &derivedReader{run, export.Derivation{Definitions: version, TokenSource: "auto"}, answer.NewDeriver(&run.Header), change}
			var got []string
			if _, err := Run(t.Context(), r, func(v Violation) { got = append(got, v.Msg) }); err != nil {
				t.Fatal(err)
			}
			want := 0
			if column != "" && version == answer.Definitions {
				want = 1
			}
			if len(got) != want || want == 1 && got[0] != "column "+column+" does not match the responses; pa-analyze convert computes it again" {
				t.Errorf("%s, definitions %d: %q", column, version, got)
			}
		}
	}
}
