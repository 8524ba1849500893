package openai

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// turns sends prompts, with the answers of a server, and returns the bodies.
func turns(t *testing.T, c backend.Conversation, prompts []workload.Prompt, answers []string) (bodies []string) {
	t.Helper()
	for i := range prompts {
		p, err := c.Turn(&workload.Entry{Prompt: &prompts[i]})
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		body, _ := p.Inputs().Get("payload")
		bodies = append(bodies, string(body.Data))
		if i < len(answers) {
			_, _ = c.AddReply(&backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte(answers[i])}})
		}
	}
	return bodies
}

func compareTurns(t *testing.T, got, want []string) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("turn %d:\n%s, want\n%s", i, got[i], want[i])
		}
	}
}

const answerItem = `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"x"}]}`

func answerWithID(id string) string {
	return `{"id":"` + id + `","object":"response","status":"completed","output":[` + answerItem + `]}`
}

// The history of v1/responses holds the items of the answers, or the server keeps it.
func TestResponsesConversation(t *testing.T) {
	t.Parallel()
	prompts := []workload.Prompt{{System: "s", Text: "a"}, {Text: "b"}, {Messages: []byte(`[{"role":"user","content":"c"}]`)}}
	b := newBackend(t, Config{URL: "localhost:1", Endpoint: "v1/responses", Model: "m"})
	c := b.NewConversation()
	const user = `{"role":"user","content":"`
	compareTurns(t, turns(t, c, prompts, []string{answerWithID("1"), answerWithID("2")}), []string{
		`{"model":"m","instructions":"s","input":"a"}`,
		`{"model":"m","input":[` + user + `a"},` + answerItem + `,` + user + `b"}],"instructions":"s"}`,
		`{"model":"m","input":[` + user + `a"},` + answerItem + `,` + user + `b"},` + answerItem + `,` + user + `c"}],"instructions":"s"}`,
	})
	if got := c.(backend.Quoter).ReplyText(); got != "x" {
		t.Errorf("the answer is %q", got)
	}

	kept := newBackend(t, Config{URL: "localhost:1", Endpoint: "v1/responses", Model: "m", ServerHistory: true})
	compareTurns(t, turns(t, kept.NewConversation(), prompts, []string{answerWithID("1"), answerWithID("2")}), []string{
		`{"model":"m","instructions":"s","input":"a","store":true}`,
		`{"model":"m","input":"b","instructions":"s","store":true,"previous_response_id":"1"}`,
		`{"model":"m","input":[` + user + `c"}],"instructions":"s","store":true,"previous_response_id":"2"}`,
	})
	// An answer that failed leaves its question to the next turn, behind the answer before.
	compareTurns(t, turns(t, kept.NewConversation(), prompts, []string{answerWithID("1"), `{"error":{"message":"m"}}`})[2:], []string{
		`{"model":"m","input":[` + user + `b"},` + user + `c"}],"instructions":"s","store":true,"previous_response_id":"1"}`,
	})
	// A recorded answer replaces the live one.
	recorded := []workload.Prompt{{Text: "a"}, {Text: "b"}, {Messages: []byte(`[{"role":"assistant","content":"r"},{"role":"user","content":"c"}]`)}}
	compareTurns(t, turns(t, kept.NewConversation(), recorded, []string{answerWithID("1"), answerWithID("2")})[2:], []string{
		`{"model":"m","input":[` + user + `b"},{"role":"assistant","content":"r"},` + user + `c"}],"store":true,"previous_response_id":"1"}`,
	})
	// It also follows the turn of an answer that failed, and replaces no answer before that turn.
	compareTurns(t, turns(t, kept.NewConversation(), recorded, []string{answerWithID("1"), `{"error":{"message":"m"}}`})[2:], []string{
		`{"model":"m","input":[` + user + `b"},{"role":"assistant","content":"r"},` + user + `c"}],"store":true,"previous_response_id":"1"}`,
	})
	chat := newBackend(t, Config{URL: "localhost:1", Model: "m"})
	compareTurns(t, turns(t, chat.NewConversation(), recorded, []string{`{"choices":[{"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`, `{"error":{"message":"m"}}`})[2:], []string{
		`{"model":"m","messages":[` + user + `a"},{"role":"assistant","content":"x"},` + user + `b"},{"role":"assistant","content":"r"},` + user + `c"}]}`,
	})
	// Branches follow the answer at which they begin.
	c = kept.NewConversation()
	turns(t, c, prompts[:1], []string{answerWithID("1")})
	fork := c.Fork()
	turns(t, c, prompts[1:2], []string{answerWithID("2")})
	compareTurns(t, turns(t, fork, prompts[1:2], nil), []string{`{"model":"m","input":"b","instructions":"s","store":true,"previous_response_id":"1"}`})

	_, err := c.AddReply(&backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte(`data: {"type":"response.output_text.delta","delta":"a"}` + "\n\n")}})
	if err == nil || !strings.Contains(err.Error(), "no turn can follow it") {
		t.Errorf("an answer without its end: %v", err)
	}
	if _, err := New(Config{URL: "localhost:1", ServerHistory: true}); err == nil || !strings.Contains(err.Error(), "with v1/responses only") {
		t.Errorf("a chat: %v", err)
	}
}

// Conversations with Ollama and Gemini.
func TestNativeConversations(t *testing.T) {
	t.Parallel()
	prompts := []workload.Prompt{{System: "s", Text: "a"}, {Text: "b"}}
	ollama := newBackend(t, Config{URL: "localhost:1", Endpoint: "api/chat", Model: "m", Streaming: true})
	compareTurns(t, turns(t, ollama.NewConversation(), prompts, []string{`{"message":{"role":"assistant","content":"x"},"done":true}`}), []string{
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"stream":true}`,
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"user","content":"b"}],"stream":true}`,
	})
	gemini := newBackend(t, Config{URL: "localhost:1", Endpoint: "v1beta/models/m:streamGenerateContent?alt=sse", Streaming: true})
	c := gemini.NewConversation()
	compareTurns(t, turns(t, c, prompts, []string{`{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"x"}]},"finishReason":"STOP"}]}`}), []string{
		`{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"x"}]},{"role":"user","parts":[{"text":"b"}]}],"systemInstruction":{"parts":[{"text":"s"}]}}`,
	})
	if got := c.(backend.Quoter).ReplyText(); got != "x" || gemini.Model() != "m" {
		t.Errorf("the answer is %q, the model %q", got, gemini.Model())
	}
	for endpoint, want := range map[string]string{"v1beta/models/m:generateContent": "give the path that ends with :streamGenerateContent?alt=sse", "v1beta/models/m:streamGenerateContent": "give v1beta/models/m:streamGenerateContent?alt=sse"} {
		if _, err := New(Config{URL: "localhost:1", Endpoint: endpoint, Streaming: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
