package answer

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// Embeddings and rankings hold no tokens, whatever form they have and whatever the
// server counts: there are an end-to-end latency and input tokens.
func TestNumbersHoldNoTokens(t *testing.T) {
	for _, tt := range []struct{ endpoint, body string }{
		{"v1/embeddings", `{"object":"list","data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}}`},
		{"v1/ranking", `{"rankings":[{"index":0,"logit":2}],"usage":{"prompt_tokens":7,"total_tokens":7}}`},
		{"rerank", `[{"index":0,"score":0.5}]`},
		{"pooling", `{"id":"pool-1","object":"list","created":1,"model":"m","data":[{"index":0,"object":"pooling","data":[[0.5],[1]]}],"usage":{"prompt_tokens":7,"total_tokens":7,"completion_tokens":0,"prompt_tokens_details":null}}`},
		{"classify", `{"id":"classify-1","object":"list","data":[{"index":0,"label":null,"probs":[0.5,0.5],"num_classes":2}],"usage":{"prompt_tokens":7,"total_tokens":7,"completion_tokens":0}}`},
		{"v1/score", `{"id":"embd-1","object":"list","data":[{"index":0,"object":"score","score":0.5}],"usage":{"prompt_tokens":7,"total_tokens":7,"completion_tokens":0}}`},
	} {
		run := &export.Run{ServiceKind: new("openai"), Endpoint: &tt.endpoint}
		m := NewMeter(run, Config{})
		got := m.Measure(&export.Request{StartNS: 100, Responses: []export.Response{{RecvNS: 350, Outputs: export.Fields{{Name: "response", Value: export.Text(tt.body)}}}}})
		if !got.Counted || !got.E2EL.OK || got.E2EL.V != 250 || got.TTFT.OK || got.Events != 0 || got.OutputTokens.OK {
			t.Errorf("%s: %+v, want an end-to-end latency of 250 and no token", tt.endpoint, got.Measures)
		}
		if tt.endpoint != "rerank" && got.InputTokens.V != 7 {
			t.Errorf("%s: input tokens %+v, want 7", tt.endpoint, got.InputTokens)
		}
	}
}
