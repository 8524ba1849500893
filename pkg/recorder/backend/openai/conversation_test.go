package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A chatServer answers each request with the number of its messages, streamed if
// that is asked for, and notes the bodies.
type chatServer struct {
	mu     sync.Mutex
	bodies []string
	fail   bool
}

func (s *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	var ask struct {
		Messages []json.RawMessage
		Stream   bool
	}
	switch err := json.Unmarshal(body, &ask); {
	case err != nil || s.fail:
		http.Error(w, "no", http.StatusInternalServerError)
	case ask.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		n := string(rune('0' + len(ask.Messages)))
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"said "}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"`+n+`"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	default:
		n := string(rune('0' + len(ask.Messages)))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"said `+n+`","role":"assistant"},"finish_reason":"stop"}]}`)
	}
}

// userTurn is an entry that says one thing.
func userTurn(step int, text string, delay time.Duration) *workload.Entry {
	return &workload.Entry{Step: step, Session: "s1", Turn: step, Delay: delay, Values: export.Fields{
		{Name: "payload", Value: export.JSON(`[{"model":"m","max_tokens":4,"messages":[{"role":"user","content":"` + text + `"}]}]`)},
		{Name: "session_id", Value: export.JSON(`["s1"]`)},
	}}
}

// Each turn asks behind all that was asked and answered, streamed or not, as
// perf_analyzer does without streams; the export shows the session beside it.
func TestConversation(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, transport := range []Transport{NetHTTP, Auto} {
			srv := &chatServer{}
			h := httptest.NewServer(srv)
			b, err := New(Config{URL: h.URL, Model: "m", Streaming: streaming, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			s, err := b.Open(context.Background(), 0, rxclock.New())
			if err != nil {
				t.Fatal(err)
			}
			c := b.NewConversation()
			var inputs []export.Fields
			for i, e := range []*workload.Entry{userTurn(0, "one", 80*time.Millisecond), userTurn(1, "two", 0), userTurn(2, "three", 0)} {
				p, err := c.Turn(e)
				if err != nil {
					t.Fatal(err)
				}
				inputs = append(inputs, p.Inputs())
				var counts []int
				x := &backend.Exchange{Request: export.Request{ID: uint64(i + 1)}, Received: func(n int) { counts = append(counts, n) }}
				s.Send(t.Context(), p, x)
				for k, n := range counts {
					if n != k+1 {
						t.Errorf("told of %v responses", counts)
					}
				}
				if len(counts) != len(x.Raw) || len(counts) == 0 {
					t.Errorf("told of %d responses of %d", len(counts), len(x.Raw))
				}
				if _, err := c.AddReply(x); err != nil {
					t.Fatalf("turn %d: %v (%s)", i, err, x.Request.Message)
				}
			}
			_, _ = s.Close(), b.Close()
			h.Close()
			answer := func(n string) string { return `{"content":"said ` + n + `","role":"assistant"}` }
			tail := "}"
			if streaming {
				answer = func(n string) string { return `{"role":"assistant","content":"said ` + n + `"}` }
				tail = `,"stream":true}`
			}
			const head = `{"model":"m","max_tokens":4,"messages":[{"role":"user","content":"one"}`
			want := []string{
				head + `]` + tail,
				head + `,` + answer("1") + `,{"role":"user","content":"two"}]` + tail,
				head + `,` + answer("1") + `,{"role":"user","content":"two"},` + answer("3") + `,{"role":"user","content":"three"}]` + tail,
			}
			if len(srv.bodies) != len(want) {
				t.Fatalf("%d requests, want %d", len(srv.bodies), len(want))
			}
			for i := range want {
				if srv.bodies[i] != want[i] {
					t.Errorf("streaming %v, turn %d:\ngot  %s\nwant %s", streaming, i, srv.bodies[i], want[i])
				}
				payload, _ := inputs[i].Get("payload")
				session, _ := inputs[i].Get("session_id")
				delay, hasDelay := inputs[i].Get("delay")
				if string(payload.Data) != want[i] || !session.Text || string(session.Data) != "s1" || hasDelay != (i == 0) || i == 0 && string(delay.Data) != "80" {
					t.Errorf("turn %d: inputs %v", i, inputs[i])
				}
			}
		}
	}
}

// A turn that holds the whole history is sent as it is, and later messages follow it.
func TestConversationOfWholeTurns(t *testing.T) {
	b, err := New(Config{URL: "localhost:1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	c := b.NewConversation()
	whole := userTurn(1, "all of it", 0)
	whole.Whole = true
	answered := &backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte(`{"choices":[{"message":{"role":"assistant","content":"yes"}}]}`)}}
	const head = `{"model":"m","max_tokens":4,"messages":[{"role":"user","content":"`
	for i, tt := range []struct {
		entry *workload.Entry
		want  string
	}{
		{userTurn(0, "one", 0), head + `one"}]}`},
		{whole, head + `all of it"}]}`},
		{userTurn(2, "three", 0), head + `all of it"},{"role":"assistant","content":"yes"},{"role":"user","content":"three"}]}`},
	} {
		p, err := c.Turn(tt.entry)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := p.Inputs().Get("payload"); string(got.Data) != tt.want {
			t.Errorf("turn %d: %s\nwant %s", i, got.Data, tt.want)
		}
		if _, err := c.AddReply(answered); err != nil {
			t.Fatal(err)
		}
	}
}

// A whole prompt of a session needs no chat.
func TestConversationOfWholePrompts(t *testing.T) {
	b, err := New(Config{URL: "localhost:1", Endpoint: "v1/completions", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	c := b.NewConversation()
	for i, text := range []string{"a", "a b c"} {
		p, err := c.Turn(&workload.Entry{Session: "s", Turn: i, Whole: true, Prompt: &workload.Prompt{Text: text, MaxTokens: 4}})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := p.Inputs().Get("payload"); string(got.Data) != `{"model":"m","prompt":"`+text+`","max_tokens":4}` {
			t.Errorf("turn %d: %s", i, got.Data)
		}
	}
	if _, err := c.Turn(&workload.Entry{Prompt: &workload.Prompt{Text: "b"}}); err == nil || !strings.Contains(err.Error(), "not the request of a chat") {
		t.Errorf("a turn that needs the history: %v", err)
	}
}

// A turn that brings the recorded answer to the turn before it replaces the live answer. An answer without
// content is no empty message.
func TestConversationReplies(t *testing.T) {
	b, err := New(Config{URL: "localhost:1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	turn := func(messages string) *workload.Entry {
		return &workload.Entry{Values: export.Fields{{Name: "payload", Value: export.JSON(`[{"model":"m","messages":[` + messages + `]}]`)}}}
	}
	reply := func(delta string) *backend.Exchange {
		return &backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte(`data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"), []byte(done)}}
	}
	const user, recorded, live = `{"role":"user","content":"q"}`, `{"role":"assistant","content":"recorded"}`, `{"role":"assistant","content":"live"}`
	for _, tt := range []struct {
		name        string
		delta       string // of the answer to the first turn
		second      string
		want        string // messages of the third turn, which is user
		contentless bool
	}{
		{"a live answer", `{"content":"live"}`, user, user + "," + live + "," + user + "," + live + "," + user, false},
		{"a recorded answer", `{"content":"live"}`, recorded + "," + user, user + "," + recorded + "," + user + "," + live + "," + user, false},
		{"a recorded answer later", `{"content":"live"}`, user + "," + recorded + "," + user, user + "," + live + "," + user + "," + recorded + "," + user + "," + live + "," + user, false},
		{"a recorded answer in place of thoughts", `{"reasoning":"hm"}`, recorded + "," + user, user + "," + recorded + "," + user + "," + live + "," + user, true},
		{"thoughts", `{"reasoning":"hm"}`, user, user + `,{"role":"assistant","content":"hm"},` + user + "," + live + "," + user, true},
		{"nothing", `{}`, user, user + "," + user + "," + live + "," + user, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := b.NewConversation()
			var last backend.Payload
			for i, messages := range []string{user, tt.second, user} {
				p, err := c.Turn(turn(messages))
				if err != nil {
					t.Fatal(err)
				}
				last = p
				delta := `{"content":"live"}`
				if i == 0 {
					delta = tt.delta
				}
				contentless, err := c.AddReply(reply(delta))
				if err != nil || contentless != (i == 0 && tt.contentless) {
					t.Fatalf("turn %d: contentless %v, %v", i, contentless, err)
				}
			}
			if got, _ := last.Inputs().Get("payload"); string(got.Data) != `{"model":"m","messages":[`+tt.want+`]}` {
				t.Errorf("%s\nwant the messages %s", got.Data, tt.want)
			}
		})
	}
}

// The text of an answer can be quoted.
func TestReplyText(t *testing.T) {
	b, err := New(Config{URL: "localhost:1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ delta, want string }{
		{`{"content":"a \"b\" é"}`, `a "b" é`},
		{`{"reasoning":"hm","content":"so"}`, "so"},
		{`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}`, ""},
		{`{}`, ""},
	} {
		c := b.NewConversation()
		if got := c.(backend.Quoter).ReplyText(); got != "" {
			t.Errorf("before the first answer: %q", got)
		}
		if _, err := c.Turn(&workload.Entry{Prompt: &workload.Prompt{Messages: []byte(`[{"role":"user","content":"q"}]`)}}); err != nil {
			t.Fatal(err)
		}
		raw := []byte(`data: {"choices":[{"index":0,"delta":` + tt.delta + "}]}\n\n")
		if _, err := c.AddReply(&backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{raw}}); err != nil {
			t.Fatal(err)
		}
		if got := c.(backend.Quoter).ReplyText(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.delta, got, tt.want)
		}
	}
}

// A turn that failed, or whose answer is none, ends the conversation.
func TestConversationEnds(t *testing.T) {
	b, err := New(Config{URL: "localhost:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		x    backend.Exchange
		want string
	}{
		{"failed", backend.Exchange{Request: export.Request{Status: export.StatusTimeout}}, "the request failed"},
		{"nothing", backend.Exchange{Request: export.Request{Status: export.StatusOK}}, "no choice"},
		{"an error in the stream", backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{
			[]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"), []byte("data: {\"error\":{\"message\":\"out of memory\"}}\n\n"),
		}}, "out of memory"},
		{"no JSON", backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte("{torn")}}, "torn"},
	} {
		_, err := b.NewConversation().AddReply(&tt.x)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	// A stream that is not announced as one is one response.
	c := &conversation{b: b}
	whole := "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: [DONE]"
	if _, err := c.AddReply(&backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte(whole)}}); err != nil || string(c.history) != `{"role":"assistant","content":"ab"}` {
		t.Errorf("an unannounced stream: %s, %v", c.history, err)
	}
}

// An entry that is no chat request cannot be a turn.
func TestConversationTurnErrors(t *testing.T) {
	b, err := New(Config{URL: "localhost:1", Endpoint: "v1/completions", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{
		`[{"model":"m","prompt":"x"}]`:   `stream 0, step 3: no "messages": not the request of a chat`,
		`[{"model":"m","messages":"x"}]`: `no "messages"`,
		`[1]`:                            "payload",
	} {
		e := &workload.Entry{Step: 3, Values: export.Fields{{Name: "payload", Value: export.JSON(payload)}}}
		if _, err := b.NewConversation().Turn(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", payload, err, want)
		}
	}
}
