package analyze

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// Embeddings and rankings hold no tokens, whatever form they have and whatever the
// server counts: there are an end-to-end latency and input tokens, and a reason for the
// rest.
func TestNumbersHoldNoTokens(t *testing.T) {
	for _, tt := range []struct{ endpoint, body, why string }{
		{"v1/embeddings", `{"object":"list","data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}}`, "embeddings hold no tokens"},
		{"v1/ranking", `{"rankings":[{"index":0,"logit":2}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, "rankings hold no tokens"},
		{"rerank", `[{"index":0,"score":0.5}]`, "rankings hold no tokens"},
	} {
		kind := "openai"
		run := &export.Run{ServiceKind: &kind, Endpoint: &tt.endpoint}
		m := NewMeter(run, Config{})
		got := m.Measure(&export.Request{StartNS: 100, Responses: []export.Response{{RecvNS: 350, Outputs: export.Fields{{Name: "response", Value: export.Text(tt.body)}}}}})
		if !got.Counted || !got.E2EL.OK || got.E2EL.V != 250 || got.TTFT.OK || got.Events != 0 || got.OutputTokens.OK {
			t.Errorf("%s: %+v, want an end-to-end latency of 250 and no token", tt.endpoint, got.Measures)
		}
		if tt.endpoint != "rerank" && got.InputTokens.V != 7 {
			t.Errorf("%s: input tokens %+v, want 7", tt.endpoint, got.InputTokens)
		}
		var keys []string
		for _, u := range unavailable(run) {
			if keys = append(keys, u.Key); u.Why != tt.why {
				t.Errorf("%s: %s is n/a because %q, want %q", tt.endpoint, u.Key, u.Why, tt.why)
			}
		}
		if want := []string{"ttft_ns", "ttfat_ns", "ttst_ns", "itl_ns", "tpot_ns", "output_tokens"}; !slices.Equal(keys, want) {
			t.Errorf("%s: n/a are %v, want %v", tt.endpoint, keys, want)
		}
	}
	chat := "v1/chat/completions"
	if all := unavailable(&export.Run{Endpoint: &chat}); len(all) > 0 {
		t.Errorf("n/a of chat: %v", all)
	}
}
