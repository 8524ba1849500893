package openai

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A request that is longer than the context of the model has a status of its own, also if a stream says so. A conversation knows
// it before the answer is decoded.
func TestContextOverflow(t *testing.T) {
	t.Parallel()
	const refusal = `{"error":{"message":"This model's maximum context length is 10 tokens. However, your request has 12 input tokens.","type":"BadRequestError","code":400}}`
	const chunk = `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n"
	for _, tt := range []struct {
		name, body string
		code       int
		want       export.Status
	}{
		{"refused", refusal, 400, export.StatusContextOverflow},
		{"another refusal", `{"error":{"message":"bad schema"}}`, 400, export.StatusHTTPError},
		{"in a stream", "data: " + refusal + "\n\ndata: [DONE]\n\n", 200, export.StatusContextOverflow},
		{"at the end of a stream", chunk + chunk + chunk + "event: error\ndata: " + refusal + "\n\n", 200, export.StatusContextOverflow},
		{"another error in a stream", chunk + `data: {"error":{"message":"out of memory"}}` + "\n\ndata: [DONE]\n\n", 200, export.StatusRPCError},
		{"an answer about errors", chunk + `data: {"choices":[{"index":0,"delta":{"content":"an error: maximum context length"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n", 200, export.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.code == 200 {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer h.Close()
			b, err := New(Config{URL: h.URL, Model: "m", Streaming: true})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			s, err := b.Open(context.Background(), 0, rxclock.New())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := b.NewConversation()
			p, err := c.Turn(userTurn(0, "one", 0))
			if err != nil {
				t.Fatal(err)
			}
			x := &backend.Exchange{Request: export.Request{ID: 1}}
			x.Pack()
			s.Send(t.Context(), p, x)
			if x.Request.Status == export.StatusOK {
				if got := c.(backend.Previewer).Preview(x); got != tt.want {
					t.Errorf("before it is decoded: %v, want %v", got, tt.want)
				}
			}
			x.Unpack(&backend.Scratch{})
			if err := b.Decode(x); err != nil || x.Request.Status != tt.want {
				t.Errorf("%v %d %q, %v; want %v", x.Request.Status, x.Request.Code, x.Request.Message, err, tt.want)
			}
			if want := tt.code != 200; x.Request.Refused() != want {
				t.Errorf("refused with an HTTP status: %v, want %v", x.Request.Refused(), want)
			}
		})
	}
}
