package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A derivedReader is a run in memory with derived columns; change makes some of them wrong.
type derivedReader struct {
	*memrun.Reader
	how     export.Derivation
	deriver *answer.Deriver
	change  func(*export.Derived)
}

func (r *derivedReader) Preview() *export.Run { return r.Run() }
func (r *derivedReader) Stored() *export.Stored {
	return &export.Stored{Derivation: r.how, Outputs: true}
}
func (r *derivedReader) Begin(export.Need) bool { return false }
func (r *derivedReader) Batch() export.Batch    { return nil }
func (r *derivedReader) Row() export.Row {
	d := r.deriver.Derive(r.Request())
	r.change(d)
	return export.Row{Request: r.Request(), Derived: d}
}

func TestValidateDerived(t *testing.T) {
	const start = export.EarliestSummary + 1000 // of a request with a sum of its responses
	for column, change := range map[string]func(*export.Derived){
		"":                   func(*export.Derived) {},
		"token_events":       func(d *export.Derived) { d.Events = d.Events[1:] },
		"streamed":           func(d *export.Derived) { d.Streamed = new(false) },
		"stream_error":       func(d *export.Derived) { d.Failure = "x" },
		"events_assumed":     func(d *export.Derived) { d.Assumed = !d.Assumed },
		"unreadable_events":  func(d *export.Derived) { d.Unreadable++ },
		"token_source":       func(d *export.Derived) { d.TokenSource = "usage" },
		"input_counted":      func(d *export.Derived) { d.InputCounted = true },
		"input_tokens":       func(d *export.Derived) { d.InputTokens = export.IntOf(1) },
		"output_tokens":      func(d *export.Derived) { d.OutputTokens.V++ },
		"reasoning_tokens":   func(d *export.Derived) { d.ReasoningTokens = export.IntOf(1) },
		"cached_tokens":      func(d *export.Derived) { d.CachedTokens = export.IntOf(1) },
		"error_class":        func(d *export.Derived) { d.Class = "x" },
		"ttft_ns":            func(d *export.Derived) { d.TTFT.V++ },
		"e2el_ns":            func(d *export.Derived) { d.E2EL.V++ },
		"itl_ns":             func(d *export.Derived) { d.ITL = nil },
		"server_prefill_ns":  func(d *export.Derived) { d.Server.Prefill = export.IntOf(1) },
		"server_decode_ns":   func(d *export.Derived) { d.Server.Decode = export.IntOf(1) },
		"server_queue_ns":    func(d *export.Derived) { d.Server.Queue = export.IntOf(1) },
		"server_sent_ns":     func(d *export.Derived) { d.Server.SentNS = export.IntOf(1) },
		"cached_host_tokens": func(d *export.Derived) { d.Server.CachedHost = export.IntOf(1) },
		"timed_tokens":       func(d *export.Derived) { d.TimedTokens.V++ },
		"hidden_tokens":      func(d *export.Derived) { d.HiddenTokens = export.IntOf(1) },
		"draft_tokens":       func(d *export.Derived) { d.Server.DraftTokens = export.IntOf(1) },
		"prefill_worker":     func(d *export.Derived) { d.Server.PrefillWorker = "x" },
		"decode_worker":      func(d *export.Derived) { d.Server.DecodeWorker = "x" },
		"ttfat_ns":           func(d *export.Derived) { d.TTFAT = export.IntOf(1) },
		"responses":          func(d *export.Derived) { d.Responses, d.ITLEvents, d.TTFAT = nil, export.Int{}, export.Int{} },
		"itl_events":         func(d *export.Derived) { d.ITLEvents = export.Int{} },
		"event_tokens":       func(d *export.Derived) { d.Events[0].Tokens, d.EventTokens = 1, true },
	} {
		for _, version := range []int{answer.Definitions, answer.Definitions + 1} {
			run := &memrun.Reader{
				Header:   export.Run{Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}},
				Requests: [][]export.Request{{memrun.At(start, start+10, start+20, start+40)}},
			}
			r := &derivedReader{run, export.Derivation{Definitions: version, TokenSource: "auto"}, answer.NewDeriver(&run.Header), change}
			var got []string
			if _, err := Validate(t.Context(), r, ValidateConfig{}, func(v Violation) { got = append(got, v.Msg) }); err != nil {
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

// Columns that a tokenizer counted are compared with the same tokenizer only.
func TestValidateDerivedByTokenizer(t *testing.T) {
	words := answer.TokenCounting{Counter: memrun.Words{}, Tokenizer: "abc"}
	for _, tt := range []struct {
		name   string
		how    func(*export.Derivation)
		cfg    ValidateConfig
		reason string // in Validation.NotCompared; "" if the columns are compared
	}{
		{"the same", func(*export.Derivation) {}, ValidateConfig{Counter: memrun.Words{}, Tokenizer: "abc"}, ""},
		{"none", func(*export.Derivation) {}, ValidateConfig{}, "SHA-256 abc counted tokens; give it with --tokenizer"},
		{"another", func(*export.Derivation) {}, ValidateConfig{Counter: memrun.Words{}, Tokenizer: "def"}, "SHA-256 abc counted tokens, but --tokenizer has def"},
		{"it refused texts", func(d *export.Derivation) { d.NotCounted = 1 }, ValidateConfig{Counter: memrun.Words{}, Tokenizer: "abc"}, "could not count all texts"},
		{"older definitions", func(d *export.Derivation) { d.Definitions-- }, ValidateConfig{Counter: memrun.Words{}, Tokenizer: "abc"}, fmt.Sprintf("follow definitions %d, and this program has definitions %d", answer.Definitions-1, answer.Definitions)},
		{"a source of a newer program", func(d *export.Derivation) { d.TokenSource = "guess" }, ValidateConfig{Counter: memrun.Words{}, Tokenizer: "abc"}, `"guess": expected`},
	} {
		run := &memrun.Reader{
			Header:   export.Run{Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}},
			Requests: [][]export.Request{{memrun.At(1000, 1010, 1020, 1040)}},
		}
		deriver := answer.NewTokenDeriver(&run.Header, words)
		how := deriver.Derivation()
		tt.how(&how)
		r := &derivedReader{run, how, deriver, func(d *export.Derived) { d.OutputTokens.V++ }}
		var got []string
		result, err := Validate(t.Context(), r, tt.cfg, func(v Violation) { got = append(got, v.Msg) })
		if err != nil {
			t.Fatal(err)
		}
		if compared := tt.reason == ""; len(got) == 1 != compared || (result.NotCompared == "") != compared || !strings.Contains(result.NotCompared, tt.reason) {
			t.Errorf("%s: %q, not compared: %q", tt.name, got, result.NotCompared)
		}
	}
}
