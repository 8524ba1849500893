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
		{"v1/embeddings", `{"model":"no","input":"x"}`, 404, `there is no model`, 0},
		{"v1/embeddings", `{}`, 400, `input: `, 0},
		{"v1/ranking", `{"query":"q","documents":["a"]}`, 400, `passages: there are none`, 0},
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

// v1/responses, whole and streamed.
func TestResponses(t *testing.T) {
	s := start(t, fast())
	created := regexp.MustCompile(`"created_at":\d+`)
	for _, row := range []struct{ body, want string }{
		{`{"input":"a b","instructions":"c","max_output_tokens":2}`, `{"id":"resp-sim-0","object":"response","created_at":0,"model":"sim","status":"incomplete","output":[{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"WORDS"}]}],"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}}`},
		{`{"input":[{"role":"user","content":[{"type":"input_text","text":"a b c"}]}]}`, `"status":"completed","output":[`},
		{`{"input":[]}`, `input: expected`},
	} {
		_, body, err := post(t, s.OpenAIURL()+"/v1/responses", row.body)
		if err != nil {
			t.Fatal(err)
		}
		got := created.ReplaceAllString(string(body), `"created_at":0`)
		got = regexp.MustCompile(`"text":"[^"]*"`).ReplaceAllString(got, `"text":"WORDS"`)
		if !strings.Contains(got, row.want) {
			t.Errorf("%s:\n%s, want\n%s", row.body, got, row.want)
		}
	}
	_, body, err := post(t, s.OpenAIURL()+"/v1/responses", `{"input":"a","stream":true,"max_output_tokens":3}`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^event: (.*)$`).FindAllSubmatch(body, -1) {
		names = append(names, string(m[1]))
	}
	delta := "response.output_text.delta"
	if want := strings.Join([]string{"response.created", delta, delta, delta, "response.incomplete"}, " "); strings.Join(names, " ") != want {
		t.Errorf("events %v, want %v", names, want)
	}
	if e := last(t, s); e.Protocol != OpenAIResponses || e.OutputTokens != 3 || e.InputTokens != 1 || len(e.TokenTimesNS()) != 3 {
		t.Errorf("ledger: %+v", e)
	}
}
