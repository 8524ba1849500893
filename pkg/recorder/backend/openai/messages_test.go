package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// named returns an event of Messages, whose name is its type.
func named(data string) string {
	_, rest, _ := strings.Cut(data, `"type":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return "event: " + name + "\ndata: " + data + "\n\n"
}

var (
	messageStart = named(`{"type":"message_start","message":{"id":"msg_9","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":12,"output_tokens":1}}}`)
	ping         = named(`{"type":"ping"}`)
	blockStop    = named(`{"type":"content_block_stop","index":0}`)
	messageDelta = named(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`)
	messageStop  = named(`{"type":"message_stop"}`)
)

func blockStart(block string) string {
	return named(`{"type":"content_block_start","index":0,"content_block":` + block + `}`)
}

func blockDelta(kind, member, text string) string {
	return named(`{"type":"content_block_delta","index":0,"delta":{"type":"` + kind + `","` + member + `":"` + text + `"}}`)
}

// The requests of a conversation carry the instructions of the first turn, and the blocks of the answers.
func TestMessagesConversation(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for _, e := range []string{
			messageStart, blockStart(`{"type":"thinking","thinking":"","signature":""}`), blockDelta("thinking_delta", "thinking", "hm"), blockDelta("signature_delta", "signature", "xyz"), blockStop,
			strings.ReplaceAll(blockStart(`{"type":"text","text":""}`)+blockDelta("text_delta", "text", "b"), `"index":0`, `"index":1`), messageDelta, messageStop,
		} {
			_, _ = io.WriteString(w, e)
		}
	})
	b := newBackend(t, Config{URL: srv.URL, Endpoint: "v1/messages", Model: "m"})
	s, c := open(t, b), b.NewConversation()
	const answer = `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"xyz"},{"type":"text","text":"b"}]}`
	for i, turn := range []struct {
		prompt workload.Prompt
		want   string
	}{
		{workload.Prompt{System: "s", Text: "a", MaxTokens: 5}, `{"model":"m","system":"s","messages":[{"role":"user","content":"a"}],"max_tokens":5}`},
		{workload.Prompt{Text: "c", MaxTokens: 5}, `{"model":"m","messages":[{"role":"user","content":"a"},` + answer + `,{"role":"user","content":"c"}],"max_tokens":5,"system":"s"}`},
		{
			workload.Prompt{System: "t", Messages: []byte(`[{"role":"system","content":"t"},{"role":"user","content":"d"}]`)},
			`{"model":"m","system":"t","messages":[{"role":"user","content":"a"},` + answer + `,{"role":"user","content":"c"},` + answer + `,{"role":"user","content":"d"}],"max_tokens":1024}`,
		},
	} {
		p, err := c.Turn(&workload.Entry{Prompt: &turn.prompt})
		if err != nil {
			t.Fatal(err)
		}
		if payload, _ := p.Inputs().Get("payload"); string(payload.Data) != turn.want {
			t.Errorf("turn %d:\n%s, want\n%s", i, payload.Data, turn.want)
		}
		x := &backend.Exchange{}
		s.Send(t.Context(), p, x)
		if contentless, err := c.AddReply(x); err != nil || contentless {
			t.Fatalf("turn %d: %v, %v (%s)", i, contentless, err, x.Request.Message)
		}
		if got := c.(*conversation).ReplyText(); got != "b" {
			t.Errorf("turn %d: the answer is %q", i, got)
		}
	}
}
