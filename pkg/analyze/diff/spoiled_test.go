package diff

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// The metrics of quality that depend on times, and of these all but medians.
const (
	qualityTimes = " fluidity_index fluid_tokens_per_s tokens_in_time smooth_tokens_per_s reader_idle_mean stalled_share stall_share itl_per_token_estimated_p50 itl_per_token_estimated_p99 normalized_latency_p50 normalized_latency_p90 interactivity_p90"
	qualityTails = " fluidity_index fluid_tokens_per_s tokens_in_time smooth_tokens_per_s reader_idle_mean stalled_share stall_share itl_per_token_estimated_p99 normalized_latency_p90 interactivity_p90"
)

// Each warning of the recorder spoils the metrics that it is about, and no others.
func TestSpoils(t *testing.T) {
	for _, tt := range []struct {
		name    string
		level   RunLevel
		spoiled string // keys of metrics
	}{
		{"nothing", RunLevel{OK: 100}, ""},
		{"saturated", RunLevel{OK: 100, Saturated: []string{"its cores are busy"}}, "ttft_p50 ttft_p90 ttft_p99 ttft_mean itl_p50 itl_p99 itl_mean tpot_p50 e2el_p50 e2el_p99 e2el_mean output_tokens_per_s requests_per_s" + qualityTimes},
		{"few tokens together", RunLevel{OK: 100, Together: 5, TokenEvents: 100}, ""},
		{"tokens together", RunLevel{OK: 100, Together: 6, TokenEvents: 100}, "itl_p50 itl_p99 itl_per_token_estimated_p50 itl_per_token_estimated_p99"},
		{"a pause touched 1 of 100", RunLevel{OK: 100, Paused: 1, Pauses: []export.Pause{{}}}, "ttft_p90 ttft_p99 ttft_mean itl_p99 itl_mean e2el_p99 e2el_mean output_tokens_per_s requests_per_s" + qualityTails},
		{"a pause touched 2 of 100", RunLevel{OK: 99, Failed: 1, Paused: 2, Pauses: []export.Pause{{}}}, "ttft_p50 ttft_p90 ttft_p99 ttft_mean itl_p50 itl_p99 itl_mean tpot_p50 e2el_p50 e2el_p99 e2el_mean output_tokens_per_s requests_per_s" + qualityTimes},
		{"a pause left out", RunLevel{OK: 100, Paused: 2, Pauses: []export.Pause{{}}, Run: &Run{cfg: analyze.Config{Selection: analyze.Selection{WithoutPauses: true}}}}, ""},
		{"a clock step", RunLevel{OK: 100, Run: &Run{clockSteps: 1}}, "ttft_p90 ttft_p99 ttft_mean itl_p99 itl_mean e2el_p99 e2el_mean" + qualityTails},
		{"gaps below 0", RunLevel{OK: 100, Backward: 1}, "ttft_p90 ttft_p99 ttft_mean itl_p99 itl_mean e2el_p99 e2el_mean" + qualityTails},
	} {
		if tt.level.Run == nil {
			tt.level.Run = &Run{}
		}
		var spoiled []string
		for i := range Metrics {
			if tt.level.Spoils(Metrics[i]) != "" {
				spoiled = append(spoiled, Metrics[i].Key)
			}
		}
		if got := strings.Join(spoiled, " "); got != tt.spoiled {
			t.Errorf("%s spoils %s\nwant %s", tt.name, got, tt.spoiled)
		}
	}
}

// A spoiled metric keeps its interval, has no verdict, passes no gate and counts in no
// family; the first line says why.
func TestSpoiledHasNoVerdict(t *testing.T) {
	older, newer := side6(t, "old", 10, 20), side6(t, "new", 20, 21)
	newer[2].Levels[0].Saturated = []string{"it used 97 % of its cores"}
	res := Compare(older, newer, Options{})
	if res.Family != 4 { // what is spoiled at one level is spoiled over all levels
		t.Errorf("a family of %d, want 4 of the other level", res.Family)
	}
	for i, spoiled := range []bool{true, false} {
		r := rowOf(t, res.Levels[i], "tpot_p50")
		if (r.Verdict == inference.NotAvailable) != spoiled || r.NA.Missing() || (r.Spoiled == "the client may be the limit in new-3.json") != spoiled {
			t.Errorf("level %d: verdict %v, %q, %v", i, r.Verdict, r.Spoiled, r.NA)
		}
	}
	if got, want := res.sentence(res.Levels[0]), "cannot tell: TTFT p50 +1.5 %, TPOT p50 +5.2 %, E2EL p50 +4.8 %, output tokens/s -4.2 % cannot be judged: the client may be the limit in new-3.json"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"tpot_p50 better", "tpot_p50.low>+50%"} {
		e, err := (&Options{}).ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		if passed := (&Result{Old: res.Old, New: res.New, Levels: res.Levels[:1]}).Gate([]*GateExpr{e}); passed {
			t.Errorf("%s passed", text)
		}
	}
}
