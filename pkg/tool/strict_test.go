package tool

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

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
	q := quality.Default()
	cfg := analyze.Config{Quality: &q, Economics: &figure.EconomicsConfig{GPUs: 1, GPUHourPrice: 2, EnergyPrice: 0.1}, Prefix: true, Phases: true}
	above := map[string]float64{ // the largest value of ratios and rates
		"fluidity_index": 1, "tokens_in_time": 1, "stall_share": 1, "fluid_token_rate": 1e9 - 1, figure.KeyHitRate: 1, figure.KeyHitRateZero: 1, figure.KeyTTFTExplains: 1,
	}
	known := map[string]int{}
	opener := export.Opener{Formats: append(Formats(), profilejson.Format{})}
	file := filepath.Join(t.TempDir(), "export")
	for name, b := range files {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := opener.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := analyze.Run(t.Context(), r, cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = r.Close()
		for i := range rep.Experiments {
			x := &rep.Experiments[i]
			for _, f := range slices.Concat(x.Quality.Figures, x.Economics.Figures, x.Prefix.Figures, x.Phases.Figures) {
				limit, limited := above[f.Key]
				below := f.Key == "smooth_goodput" || f.Key == figure.KeyTTFTSlope || f.Key == figure.KeyTTFTBase || f.Key == figure.KeyOtherTime // may be below 0
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
	for _, key := range []string{"fluidity_index", figure.KeyUserRate, figure.KeyGPUDollars} {
		if known[key] < 50 {
			t.Errorf("%d levels have %s, want most", known[key], key)
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
	opener := export.Opener{Formats: Formats()}
	r, err := opener.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q := quality.Default()
	rep, err := analyze.Run(t.Context(), r, analyze.Config{Quality: &q, Economics: &figure.EconomicsConfig{}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "mlcommons/endpoints events.jsonl states no output tokens; --tokenizer counts the text"
	x := &rep.Experiments[0]
	for _, key := range []string{answer.TPOT.Key(), answer.OutputTokens.Key(), "output_tokens_per_s"} {
		i := slices.IndexFunc(x.Unavailable, func(u figure.Unavailable) bool { return u.Key == key })
		if i < 0 || x.Unavailable[i].Why != want {
			t.Errorf("%s: n/a (%v), want %s", key, x.Unavailable, want)
		}
	}
	named := func(key string) *figure.Figure {
		return &x.Quality.Figures[slices.IndexFunc(x.Quality.Figures, func(f figure.Figure) bool { return f.Key == key })]
	}
	for _, f := range []*figure.Figure{x.Economics.Figure(figure.KeyUserRate), x.Economics.Figure(figure.KeyUserRateE2E), named("interactivity_p90"), named("interactivity_p75")} {
		if f.Why != want {
			t.Errorf("%s: n/a (%s), want %s", f.Key, f.Why, want)
		}
	}
}
