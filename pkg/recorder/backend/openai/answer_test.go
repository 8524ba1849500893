package openai

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// respond returns the head of an answer of the type given.
func respond(code int, contentType string) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {contentType}},
		TransferEncoding: []string{"chunked"}, ContentLength: -1,
	}
}

// However a stream is chopped, the events are the same, and each has the stamp
// and the number of the piece with its last byte.
func TestAnswerChopped(t *testing.T) {
	a := answer{b: newBackend(t, Config{URL: "h"})}
	rng := rand.New(rand.NewPCG(1, 2))
	body := strings.Join(chat, "")
	for range 200 {
		x := &backend.Exchange{}
		a.begin(x)
		a.head(respond(200, "text/event-stream"), stamp{ns: 100, source: export.SourceKernel}, 0)
		for pos, read := 0, uint32(1); pos < len(body); read++ {
			n := min(1+rng.IntN(200), len(body)-pos)
			pos += n
			if err := a.data([]byte(body[pos-n:pos]), stamp{ns: uint64(pos), source: export.SourceKernel}, read); err != nil {
				t.Fatal(err)
			}
			for i, end := 0, 0; i < len(x.Raw); i++ {
				end += len(x.Raw[i])
				r := x.Request.Responses[i]
				if r.RecvNS < uint64(end) || r.RecvNS > uint64(pos) || r.Read > read {
					t.Fatalf("event %d ends at %d, has the stamp of byte %d, read %d (of %d)", i, end, r.RecvNS, r.Read, read)
				}
			}
		}
		if !a.sawDone {
			t.Error("[DONE] was not seen")
		}
		if keep := a.end(io.EOF); !keep || x.Request.Status != export.StatusOK {
			t.Errorf("keep %v, %v: %s", keep, x.Request.Status, x.Request.Message)
		}
		var got []string
		for _, raw := range x.Raw {
			got = append(got, string(raw))
		}
		if diff := cmp.Diff(chat, got); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
	}
}

// The outcome of an answer by the way in which it ends, for each kind of body.
func TestAnswerEnd(t *testing.T) {
	broken := io.ErrUnexpectedEOF
	late := &givenUpError{errors.New("stop")}
	const cut = "the connection broke before the end of the answer: unexpected EOF"
	const stopped = "given up before the answer was complete"
	for _, tt := range []struct {
		name        string
		code        int
		contentType string
		body        string
		err         error
		status      export.Status
		msg         string
		raw         int // responses
		keep        bool
	}{
		{"stream", 200, "text/event-stream", event("a") + done, nil, export.StatusOK, "", 2, true},
		{"stream, end not seen", 200, "text/event-stream", event("a") + done, broken, export.StatusOK, "", 2, false},
		{"stream, given up after [DONE]", 200, "text/event-stream", event("a") + done, late, export.StatusOK, "", 2, false},
		{"stream, [DONE] in the rest", 200, "text/event-stream", event("a") + "data: [DONE]\n", broken, export.StatusOK, "", 2, false},
		{"stream, cut", 200, "text/event-stream", event("a") + event("b")[:30], broken, export.StatusTruncated, cut, 2, false},
		{"stream, given up", 200, "text/event-stream", event("a"), late, export.StatusCancelled, stopped, 1, false},
		{"whole", 200, "application/json", `{}`, nil, export.StatusOK, "", 1, true},
		{"whole, empty", 200, "application/json", ``, nil, export.StatusOK, "", 1, true},
		{"whole, cut", 200, "application/json", `{`, broken, export.StatusTruncated, cut, 1, false},
		{"error", 500, "text/plain", `no`, nil, export.StatusHTTPError, "no", 1, true},
		{"error, cut", 500, "text/plain", `no`, broken, export.StatusHTTPError, "no", 1, false},
		{"error, given up", 500, "text/plain", `no`, late, export.StatusCancelled, stopped, 1, false},
		{"error, of a stream's type", 500, "text/event-stream", event("a"), nil, export.StatusHTTPError, `{"id":"c-1"`, 1, true},
		{"too long", 200, "application/json", strings.Repeat("x", 2000), nil, export.StatusProtocolError, "the answer exceeds its memory budget of 1000 bytes; --max-answer-memory raises it", 1, false},
		{"stream too long", 200, "text/event-stream", done + strings.Repeat("x", 2000), nil, export.StatusProtocolError, "the answer exceeds its memory budget of 1000 bytes; --max-answer-memory raises it", 1, false},
		{"too long, given up", 200, "application/json", strings.Repeat("x", 2000), late, export.StatusCancelled, stopped, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answer{b: newBackend(t, Config{URL: "h", MaxAnswerMemory: 1000})}
			x := &backend.Exchange{}
			a.begin(x)
			a.head(respond(tt.code, tt.contentType), stamp{ns: 1, source: export.SourceUser}, 0)
			err := error(nil)
			for rest := tt.body; rest != "" && err == nil; {
				n := min(len(rest), 100)
				err = a.data([]byte(rest[:n]), stamp{ns: 2, source: export.SourceUser}, 1)
				rest = rest[n:]
			}
			if tt.err != nil || err == nil {
				err = tt.err
			}
			keep := a.end(err)
			if r := &x.Request; r.Status != tt.status || !strings.HasPrefix(r.Message, tt.msg) || len(x.Raw) != tt.raw || keep != tt.keep {
				t.Errorf("%v, %q, %d responses, keep %v; want %v, %q, %d, %v", r.Status, r.Message, len(x.Raw), keep, tt.status, tt.msg, tt.raw, tt.keep)
			}
		})
	}
}
