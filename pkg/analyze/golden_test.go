package analyze

import (
	"bytes"
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/foreign"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

func open(t *testing.T, name string, b []byte) export.Reader {
	t.Helper()
	r, err := profilejson.NewReader(t.Context(), name, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Every request of every export is accounted for, and nothing in them is
// unreadable to us.
func TestGoldenReports(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for name, b := range files {
		r := open(t, name, b)
		want := 0
		for r.Next() {
			want++
		}
		rep, err := Run(context.Background(), open(t, name, b), Config{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := 0
		for i := range rep.Experiments {
			e := &rep.Experiments[i]
			got += e.OK + e.FailedRequests() + e.ExcludedRequests()
			for _, m := range e.Metrics {
				if m.Summary.Min < 0 || m.Summary.N == 0 {
					t.Errorf("%s: %s: min %v of %d", name, m.Definition.Key(), m.Summary.Min, m.Summary.N)
				}
			}
			for _, w := range e.Warnings {
				if strings.Contains(w.Error(), "protocol") {
					t.Errorf("%s: %v", name, w)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %d requests accounted for, the file holds %d", name, got, want)
		}
	}
}

// All groups of metrics of exports that were not made for them: each figure has a value in its range or says why
// not, in words for the tool that wrote the file, and metrics are not negative.
func TestGoldenGroups(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for archive, names := range map[string][]string{
		"aiperf": {"whole/profile_export_raw.jsonl", "server/profile_export_raw.jsonl", "whole/profile_export.jsonl"},
		"peers": {
			"aiperf/ok/profile_export_raw.jsonl", "endpoints/ok/events.jsonl", "endpoints/chunks/events.jsonl", "guidellm/ok/benchmarks.json",
			"infperf/ok/reports/per_request_lifecycle_metrics.json", "sglang_rs/ok/result.jsonl", "vllm_rs/ok/result.json",
		},
	} {
		for _, name := range names {
			b, err := fs.ReadFile(golden.FS(t, archive), name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = b
		}
	}
	q := DefaultQuality()
	cfg := Config{Quality: &q, Economics: &EconomicsConfig{GPUs: 1, GPUHourPrice: 2, EnergyPrice: 0.1}, Prefix: true, Phases: true}
	above := map[string]float64{ // the largest value of ratios and rates
		"fluidity_index": 1, "tokens_in_time": 1, "stall_share": 1, "fluid_token_rate": 1e9 - 1, KeyHitRate: 1, KeyHitRateZero: 1, KeyTTFTExplains: 1,
	}
	known := map[string]int{}
	opener := export.Opener{Formats: append(foreign.Formats(), profilejson.Format{})}
	file := filepath.Join(t.TempDir(), "export")
	for name, b := range files {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := opener.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Run(t.Context(), r, cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = r.Close()
		for i := range rep.Experiments {
			x := &rep.Experiments[i]
			for _, f := range slices.Concat(x.Quality.Figures, x.Economics.Figures, x.Prefix.Figures, x.Phases.Figures) {
				limit, limited := above[f.Key]
				below := f.Key == "smooth_goodput" || f.Key == KeyTTFTSlope || f.Key == KeyTTFTBase || f.Key == KeyOtherTime // may be below 0
				switch {
				case strings.Contains(f.Why, "pa-record"):
					t.Errorf("%s: %s is n/a (%s), but pa-record did not write the file", name, f.Key, f.Why)
				case f.Why != "":
				case math.IsNaN(f.Value) || math.IsInf(f.Value, 0) || f.Value < 0 && !below || limited && f.Value > limit:
					t.Errorf("%s: %s = %v", name, f.Key, f.Value)
				default:
					known[f.Key]++
				}
			}
			for _, m := range slices.Concat(x.Quality.Metrics, x.Phases.Metrics) {
				if s := m.Summary; s.Min < 0 || s.N == 0 || m.Definition.Unit() == answer.Ratio && m.Definition.Metric != answer.TokensPerEvent && s.Max > 1 {
					t.Errorf("%s: %s: %+v", name, m.Definition.Key(), s)
				}
			}
		}
	}
	for _, key := range []string{"fluidity_index", KeyUserRate, KeyGPUDollars} {
		if known[key] < 50 {
			t.Errorf("%d levels have %s, want most", known[key], key)
		}
	}
}

// Token events per request, as the server of each case sent them.
func TestGoldenTokens(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for _, tt := range []struct {
		suffix string
		tokens float64 // token events of each request; 0 if each request has one response, which is no count of tokens
	}{
		{"/guide", 16},
		{"/guide_generation", 40},
		{"/guide_prefill", 1},
		{"/guide_one_response", 1},
		{"/vllm", 8},
		{"/vllm_csv", 8},
		{"/vllm_request_count", 8},
		{"/vllm_warmup", 8},
		{"/openai_chat", 6},
		{"/openai_merged", 6},
		{"/openai_crlf", 6},
		{"/openai_comments", 6},
		{"/openai_tightdone", 6},
		{"/openai_nodone", 6},
		{"/openai_reasoning", 6},
		{"/openai_tools", 6},
		{"/openai_split", 12},
		{"/vllm_no_stream", 0},
		{"/types_scalars", 0},
		{"/types_arrays", 0},
		{"/sequence", 0},
	} {
		found := false
		for name, b := range files {
			if !strings.HasSuffix(name, tt.suffix) {
				continue
			}
			found = true
			rep, err := Run(context.Background(), open(t, name, b), Config{TokenSource: answer.TokenResponses})
			if err != nil {
				t.Fatal(err)
			}
			want := tt.tokens
			if strings.HasPrefix(name, "2.39.0/") && !strings.Contains(tt.suffix, "types") {
				want++ // no outputs: the empty final response counts
			}
			s := rep.Experiments[0].Metric(answer.OutputTokens)
			if tt.tokens == 0 {
				if x := &rep.Experiments[0]; s != nil || x.Metric(answer.TTFT) != nil || x.Throughput.OutputTokens.OK || x.Metric(answer.E2EL) == nil {
					t.Errorf("%s: output tokens %+v, metrics %v: want an end-to-end latency and no tokens", name, s, x.Metrics)
				}
				continue
			}
			if s == nil || s.Min != want || s.Max != want {
				t.Errorf("%s: output tokens %+v, want %v each", name, s, want)
			}
		}
		if !found {
			t.Errorf("no golden export %s", tt.suffix)
		}
	}
}

// A file that states no output tokens: all figures that need them say so, and name --tokenizer.
func TestUnstatedTokens(t *testing.T) {
	b, err := fs.ReadFile(golden.FS(t, "peers"), "endpoints/ok/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	opener := export.Opener{Formats: foreign.Formats()}
	r, err := opener.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q := DefaultQuality()
	rep, err := Run(t.Context(), r, Config{Quality: &q, Economics: &EconomicsConfig{}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "mlcommons/endpoints events.jsonl states no output tokens; --tokenizer counts the text"
	x := &rep.Experiments[0]
	for _, key := range []string{answer.TPOT.Key(), answer.OutputTokens.Key(), "output_tokens_per_s"} {
		if why := x.whyNot(key); why != want {
			t.Errorf("%s: n/a (%s), want %s", key, why, want)
		}
	}
	for _, f := range []*LevelFigure{x.Economics.Figure(KeyUserRate), x.Economics.Figure(KeyUserRateE2E), &x.Quality.Figures[interactivity90], &x.Quality.Figures[interactivity75]} {
		if f.Why != want {
			t.Errorf("%s: n/a (%s), want %s", f.Key, f.Why, want)
		}
	}
}
