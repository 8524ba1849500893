package sim

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Embedding and ranking endpoints answer in their own formats, without generated text.
func TestVectors(t *testing.T) {
	s := start(t, fast())
	for _, row := range []struct {
		path, body string
		status     int
		want       string // N for a number with a point
		tokens     int
	}{
		{"v1/embeddings", `{"input":["one two","three"]}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"object":"embedding","embedding":[N,N,N,N,N,N,N,N]},{"index":1,"object":"embedding","embedding":[N,N,N,N,N,N,N,N]}],"usage":{"prompt_tokens":3,"total_tokens":3,"completion_tokens":0}}`, 3},
		{"v1/embeddings", `{"input":"one"}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"object":"embedding","embedding":[N,N,N,N,N,N,N,N]}],"usage":{"prompt_tokens":1,"total_tokens":1,"completion_tokens":0}}`, 1},
		{"v1/ranking", `{"query":{"text":"q w"},"passages":[{"text":"a"},{"text":"b c"}]}`, 200, `{"model":"sim","rankings":[{"index":0,"logit":N},{"index":1,"logit":N}],"usage":{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0}}`, 5},
		{"v2/rerank", `{"query":"q","documents":["a",{"text":"b"}]}`, 200, `{"model":"sim","results":[{"index":0,"relevance_score":N},{"index":1,"relevance_score":N}],"usage":{"prompt_tokens":3,"total_tokens":3,"completion_tokens":0}}`, 3},
		{"rerank", `{"query":"q","texts":["a","b"]}`, 200, `[{"index":0,"score":N},{"index":1,"score":N}]`, 3},
		{"pooling", `{"input":"one two"}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"object":"pooling","data":[N,N,N,N,N,N,N,N]}],"usage":{"prompt_tokens":2,"total_tokens":2,"completion_tokens":0}}`, 2},
		{"classify", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"one two"},{"type":"image_url"}]}]}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"label":"LABEL_0","probs":[N,N],"num_classes":2}],"usage":{"prompt_tokens":3,"total_tokens":3,"completion_tokens":0}}`, 3},
		{"v1/classify", `{"input":["a","b"]}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"label":"LABEL_0","probs":[N,N],"num_classes":2},{"index":1,"label":"LABEL_0","probs":[N,N],"num_classes":2}],"usage":{"prompt_tokens":2,"total_tokens":2,"completion_tokens":0}}`, 2},
		{"score", `{"text_1":"q","text_2":["a","b c"]}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"object":"score","score":N},{"index":1,"object":"score","score":N}],"usage":{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0}}`, 5},
		{"v1/score", `{"queries":["q","r"],"documents":["a","b"]}`, 200, `{"object":"list","model":"sim","data":[{"index":0,"object":"score","score":N},{"index":1,"object":"score","score":N}],"usage":{"prompt_tokens":4,"total_tokens":4,"completion_tokens":0}}`, 4},
		{"score", `{"text_1":["q","r"],"text_2":["a"]}`, 400, `text_1: expected one, or as many as text_2`, 0},
		{"score", `{"text_1":"q"}`, 400, `text_2: expected at least one text`, 0},
		{"score", `{}`, 400, `text_1: expected at least one text`, 0},
		{"classify", `{"messages":[{"content":5}]}`, 400, `messages[0].content: expected`, 0},
		{"pooling", `{}`, 400, `input: `, 0},
		{"pooling", `{"input":"x","sim_fault":"http_429"}`, 429, `http_429`, 1},
		{"v1/embeddings", `{"model":"no","input":"x"}`, 404, `there is no model`, 0},
		{"v1/embeddings", `{}`, 400, `input: `, 0},
		{"v1/ranking", `{"query":"q","documents":["a"]}`, 400, `passages: expected at least one text`, 0},
		{"rerank", `{"texts":["a"]}`, 400, `query: expected`, 0},
		{"rerank", `{"query":"q","texts":[5]}`, 400, `expected a text or {\"text\": …}`, 0},
		{"v1/embeddings", `{"input":"x","sim_fault":"http_500"}`, 500, `http_500`, 1},
	} {
		status, body, err := post(t, s.OpenAIURL()+"/"+row.path, row.body)
		if err != nil || status != row.status {
			t.Errorf("%s %s: status %d, %v, want %d", row.path, row.body, status, err, row.status)
		}
		got := regexp.MustCompile(`\b(0\.\d+|0|1)\b([,\]}])`).ReplaceAllStringFunc(string(body), func(n string) string {
			if strings.HasPrefix(n, "0.") {
				return "N" + n[len(n)-1:]
			}
			return n
		})
		if status == http.StatusOK && got != row.want || !strings.Contains(got, row.want) {
			t.Errorf("%s %s:\n%s, want\n%s", row.path, row.body, got, row.want)
		}
		if e := last(t, s); e.InputTokens != row.tokens || e.OutputTokens != 0 {
			t.Errorf("%s %s: ledger has %d input and %d output tokens, want %d and 0", row.path, row.body, e.InputTokens, e.OutputTokens, row.tokens)
		}
	}
}
