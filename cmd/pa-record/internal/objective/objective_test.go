package objective

import (
	"testing"

	"github.com/pa-tools/pa/internal/memrun"
	"github.com/pa-tools/pa/pkg/analyze/slo"
	"github.com/pa-tools/pa/pkg/export"
)

// answered returns a request that started at a second, and whose tokens came at others.
func answered(start float64, tokens ...float64) export.Request {
	var pieces []string
	for range tokens {
		pieces = append(pieces, memrun.Delta("x"))
	}
	q := memrun.OpenAI(pieces...)
	q.StartNS = uint64(start * 1e9)
	for i, s := range tokens {
		q.Responses[i].RecvNS = uint64(s * 1e9)
	}
	return q
}

// A level is judged by the percentiles of its own requests: warm-up and other levels do not
// count, and failures only by their share.
func TestJudge(t *testing.T) {
	expr, err := slo.ParseLevel("ttft_p50<=200ms && itl_max<=1s && tpot_mean<1s && output_tokens_min>=2")
	if err != nil {
		t.Fatal(err)
	}
	streamed := true
	kind, endpoint := "openai", "v1/chat/completions"
	j := New(expr, &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{Streaming: &streamed}})
	warm := answered(1, 9, 19)
	warm.Phase = export.PhaseWarmup
	failed := answered(1, 9, 19)
	failed.Status = export.StatusTimeout
	many := func(n int, q export.Request) (all []export.Request) {
		for range n {
			all = append(all, q)
		}
		return all
	}
	for _, tt := range []struct {
		name     string
		requests []export.Request
		want     Verdict
	}{
		{"met", []export.Request{answered(1, 1.125, 1.25), answered(1, 1.25, 1.5), answered(2, 2.0625, 2.5, 3)}, Verdict{true, "ttft_p50 125ms, itl_max 500ms, tpot_mean 281.2ms, output_tokens_min 2"}},
		{"the next level begins anew", []export.Request{answered(1, 1.5, 1.75)}, Verdict{false, "ttft_p50 500ms, itl_max 250ms, tpot_mean 250ms, output_tokens_min 2"}},
		{"warm-up", []export.Request{warm, answered(1, 1.125, 1.25)}, Verdict{true, "ttft_p50 125ms, itl_max 125ms, tpot_mean 125ms, output_tokens_min 2"}},
		{"a gap is too long", []export.Request{answered(1, 1.125, 2.25)}, Verdict{false, "ttft_p50 125ms, itl_max 1125ms, tpot_mean 1125ms, output_tokens_min 2"}},
		{"some fail", append(many(99, answered(1, 1.125, 1.25)), failed), Verdict{true, "ttft_p50 125ms, itl_max 125ms, tpot_mean 125ms, output_tokens_min 2"}},
		{"many fail", append(many(98, answered(1, 1.125, 1.25)), failed, failed), Verdict{false, "ttft_p50 125ms, itl_max 125ms, tpot_mean 125ms, output_tokens_min 2, 2 of 100 requests failed"}},
		{"all fail", many(2, failed), Verdict{false, "ttft_p50 unknown, itl_max unknown, tpot_mean unknown, output_tokens_min unknown, 2 of 2 requests failed"}},
		{"no gap", []export.Request{answered(1, 1.125)}, Verdict{false, "ttft_p50 125ms, itl_max unknown, tpot_mean unknown, output_tokens_min 1"}},
		{"nothing", nil, Verdict{false, "ttft_p50 unknown, itl_max unknown, tpot_mean unknown, output_tokens_min unknown"}},
	} {
		for i := range tt.requests {
			j.Add(&tt.requests[i])
		}
		met := j.Met()
		if got := j.Verdicts()[len(j.Verdicts())-1]; got != tt.want || met != tt.want.Met {
			t.Errorf("%s: %v, %+v, want %+v", tt.name, met, got, tt.want)
		}
	}
}
