package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
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

// messagesForms are answers to requests to v1/messages, in pieces that are flushed one by one.
var messagesForms = []struct {
	name   string
	code   int // 0 is 200
	pieces []string
	cut    bool // the connection breaks after the pieces
	slow   bool // a pause between the pieces
	status export.Status
	msg    string
	tokens int // events that hold output
}{
	{name: "whole", pieces: []string{`{"id":"msg_9","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`}, tokens: 1},
	{name: "streamed", pieces: []string{messageStart, blockStart(`{"type":"text","text":""}`), ping, blockDelta("text_delta", "text", "a"), blockDelta("text_delta", "text", "b"), blockStop, messageDelta, messageStop}, tokens: 2},
	{
		name: "tool call", pieces: []string{messageStart, blockStart(`{"type":"tool_use","id":"t","name":"ls","input":{}}`), blockDelta("input_json_delta", "partial_json", `{\"d\":`), blockDelta("input_json_delta", "partial_json", "1}"), blockStop, messageDelta, messageStop},
		tokens: 3,
	},
	{name: "thinking", pieces: []string{messageStart, blockStart(`{"type":"thinking","thinking":""}`), blockDelta("thinking_delta", "thinking", "hm"), blockDelta("signature_delta", "signature", "xyz"), blockStop, messageDelta, messageStop}, tokens: 1},
	{name: "error before", code: 529, pieces: []string{`{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"r"}`}, status: export.StatusHTTPError, msg: "busy"},
	{name: "error within", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), named(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)}, status: export.StatusRPCError, msg: "overloaded_error: busy", tokens: 1},
	{name: "context overflow within", pieces: []string{messageStart, named(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`)}, status: export.StatusContextOverflow, msg: "invalid_request_error: prompt is too long"},
	{name: "cut", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), blockDelta("text_delta", "text", "b")[:40]}, cut: true, status: export.StatusTruncated, tokens: 1},
	{name: "without the end", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), blockStop, messageDelta}, status: export.StatusTruncated, msg: "the stream ended without message_stop", tokens: 1},
	{name: "cut after the end", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), messageDelta, messageStop}, cut: true, tokens: 1},
	{name: "slow", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), ping, blockDelta("text_delta", "text", "b"), messageDelta, messageStop}, slow: true, tokens: 2},
	{
		name: "unknown events", pieces: []string{
			messageStart, named(`{"type":"new_event","text":"x"}`), blockStart(`{"type":"new_block","text":"x"}`), blockDelta("new_delta", "text", "x"), blockDelta("text_delta", "text", "a"),
			blockDelta("citations_delta", "citation", "x"), messageDelta, messageStop,
		}, tokens: 1,
	},
}

// Each answer over each transport, HTTP/1.1 and HTTP/2, with and without TLS, plain and compressed: all events are kept raw,
// and those with tokens are known.
func TestMessages(t *testing.T) {
	onEach(t, func(t *testing.T, tr Transport) {
		t.Parallel()
		for _, coding := range []string{"", "gzip"} {
			testMessages(t, coding, func(t *testing.T, h http.HandlerFunc) Config {
				return Config{URL: serve(t, h).URL, Transport: tr}
			})
		}
	})
	bothWays(t, func(t *testing.T, secure bool) {
		t.Parallel()
		for _, coding := range []string{"", "gzip"} {
			testMessages(t, coding, func(t *testing.T, h http.HandlerFunc) Config { return serveHTTP2(t, secure, h) })
		}
	})
}

func testMessages(t *testing.T, coding string, server func(t *testing.T, h http.HandlerFunc) Config) {
	for _, tt := range messagesForms {
		t.Run(strings.TrimSpace(coding+" "+tt.name), func(t *testing.T) {
			cfg := server(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // or the answer may come before the request is sent
				if r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("X-Api-Key") != "sesame" || r.URL.Path != "/v1/messages" {
					t.Errorf("%s with %v", r.URL.Path, r.Header)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				if len(tt.pieces) == 1 {
					w.Header().Set("Content-Type", "application/json")
				}
				pieces := tt.pieces
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
					pieces = pack(t, coding, pieces)
				}
				if tt.code != 0 {
					w.WriteHeader(tt.code)
				}
				for i, p := range pieces {
					if i > 0 && tt.slow {
						time.Sleep(time.Millisecond)
					}
					_, _ = io.WriteString(w, p)
					flush(w)
				}
				if tt.cut {
					panic(http.ErrAbortHandler)
				}
			})
			cfg.Endpoint, cfg.Headers = "v1/messages", []Header{{"x-api-key", "sesame"}}
			b := newBackend(t, cfg)
			x := exchange(t.Context(), t, b, open(t, b), `{"model":"m","max_tokens":3,"messages":[]}`)
			want := tt.status
			if want == export.StatusUnknown {
				want = export.StatusOK
			}
			if x.Request.Status != want || !strings.Contains(x.Request.Message, tt.msg) {
				t.Errorf("status %v: %q, want %v: %q", x.Request.Status, x.Request.Message, want, tt.msg)
			}
			if got, sent := joined(x), strings.Join(tt.pieces, ""); got != sent && (!tt.cut || coding == "") {
				t.Errorf("recorded\n%s, sent\n%s", got, sent)
			}
			if tt.name == "error within" && x.Request.Code != 529 {
				t.Errorf("code %d", x.Request.Code)
			}
			if x.Tokens.N != tt.tokens || x.Tokens.Several {
				t.Errorf("%+v, want %d", x.Tokens, tt.tokens)
			}
			if r := x.Request.Responses; want == export.StatusOK && !r[len(r)-1].Final {
				t.Error("the last response is not final")
			}
		})
	}
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
