package guidellm

import (
	"fmt"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The words and characters of prompts, as GuideLLM 0.8.1 counts them.
func TestPromptText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		payload           string
		turn              int
		words, characters float64 // -1: unknown
	}{
		{`{"prompt":" two wörds "}`, 0, 2, 11},
		{`{"prompt":["a b","c"]}`, 0, 3, 4},
		{`{"prompt":[1,2]}`, 0, -1, -1},
		{`{"prompt":""}`, 0, -1, -1},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},{"type":"image_url","image_url":{"url":"x y"}},{"type":"text","text":"c"}]}]}`, 0, 3, 4},
		{`{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]}`, 0, 3, 9},
		{`{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"},{"role":"assistant","content":"yes"},{"role":"user","content":"why now"}]}`, 1, 2, 7},
		{`{"messages":[]}`, 0, -1, -1},
		{`{"messages":`, 0, -1, -1},
	} {
		q := &export.Request{Turn: tt.turn, Inputs: export.Fields{{Name: "payload", Value: export.Text(tt.payload)}}}
		r := newRequest(q, &answer.Measured{Answer: new(answer.Answer)}, new(dialect.Texts))
		known := func(v float64) float64 {
			if !isKnown(v) {
				return -1
			}
			return v
		}
		if got, want := fmt.Sprint(known(r.wordsIn), known(r.charactersIn)), fmt.Sprint(tt.words, tt.characters); got != want {
			t.Errorf("%s: %s, want %s", tt.payload, got, want)
		}
	}
}

// An answer that was not streamed has no time of a token.
func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		streamed bool
		want     string
	}{{true, "[1 1 true]"}, {false, "[0 0 false]"}} {
		body := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a b"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
		if tt.streamed {
			body = `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a b"}}]}` + "\n\n"
		}
		q := &export.Request{HasMeta: true, Status: export.StatusOK, StartNS: 1e9, Responses: []export.Response{
			{RecvNS: 2e9, Outputs: export.Fields{{Name: "response", Value: export.Text(body)}}},
		}}
		run := &export.Run{ServiceKind: new("openai"), Endpoint: new("v1/chat/completions"), Experiments: make([]export.Experiment, 1)}
		w := newWriter(releases[len(releases)-1], run)
		r := newRequest(q, w.meter.Measure(q), new(dialect.Texts))
		if got := fmt.Sprint([]any{r.tokenIterations, r.iterations, isKnown(r.ttft())}); got != tt.want {
			t.Errorf("streamed %v: %s, want %s", tt.streamed, got, tt.want)
		}
		if r.latency() != 1 || r.answer != "a b" {
			t.Errorf("streamed %v: latency %v, answer %q", tt.streamed, r.latency(), r.answer)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
}
