package openai

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// Recorded answers of real servers, over a real connection, whole and in
// random pieces.
func TestGolden(t *testing.T) { onEach(t, testGolden) }

func testGolden(t *testing.T, tr Transport) {
	statuses := map[string]export.Status{
		"llamacpp_ping/truncated_server_killed.http":                 export.StatusTruncated,
		"vllm_reasoning_interval4/err_mid_stream_engine_killed.http": export.StatusRPCError,
		"llamacpp/err_bad_model.http":                                export.StatusOK, // any model will do
		"transformers/err_context_overflow_stream.http":              export.StatusOK, // not checked
	}
	golden.Each(t, "openai_streams", "*.http", 40, func(name string, raw []byte) {
		if path.Base(name) == "models.http" {
			return
		}
		want := goldenOf(t, raw)
		if s, ok := statuses[name]; ok {
			want.status = s
			if s == export.StatusRPCError {
				want.code = 500 // the code of the error
			}
			delete(statuses, name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay(t, tr, raw, want)
		})
	})
	if len(statuses) > 0 {
		t.Errorf("not seen: %v", statuses)
	}
}

// A goldenAnswer is what a recording must come to.
type goldenAnswer struct {
	code   int
	status export.Status
	frames []string
	whole  bool // came to its end
}

func goldenOf(t *testing.T, raw []byte) goldenAnswer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	g := goldenAnswer{code: resp.StatusCode, status: export.StatusOK, whole: err == nil}
	if g.code != http.StatusOK {
		g.status = export.StatusHTTPError
	}
	if g.code == http.StatusBadRequest && bytes.Contains(raw, []byte("(4096 tokens)")) || bytes.Contains(raw, []byte("maximum context length")) {
		g.status = export.StatusContextOverflow
	}
	if !strings.Contains(resp.Header.Get("Content-Type"), "event-stream") {
		g.frames = []string{string(body)}
		return g
	}
	var s sse.Splitter
	for s.Feed(body); s.Next(); {
		g.frames = append(g.frames, string(s.Frame()))
	}
	if rest := s.Rest(); len(rest) > 0 {
		g.frames = append(g.frames, string(rest))
	}
	return g
}

func replay(t *testing.T, tr Transport, raw []byte, want goldenAnswer) {
	rng := rand.New(rand.NewPCG(7, uint64(len(raw))))
	const chopped = 4
	addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		if n == 0 {
			return write(c, string(raw)) && want.whole
		}
		for rest := raw; len(rest) > 0; {
			k := min(len(rest), 1+rng.IntN(400))
			if !write(c, string(rest[:k])) {
				return false
			}
			rest = rest[k:]
		}
		return want.whole
	})
	b := newBackend(t, Config{Transport: tr, URL: addr})
	s := open(t, b)
	for i := range 1 + chopped {
		x := exchange(t.Context(), t, b, s, `{"stream":true}`)
		r := &x.Request
		if r.Code != want.code || r.Status != want.status {
			t.Errorf("exchange %d: status %v, code %d (%s), want %v, %d", i, r.Status, r.Code, r.Message, want.status, want.code)
		}
		var got []string
		for _, raw := range x.Raw {
			got = append(got, string(raw))
		}
		if diff := cmp.Diff(want.frames, got); diff != "" {
			t.Errorf("exchange %d: frames (-want +got):\n%s", i, diff)
		}
		reusable := want.whole && !bytes.Contains(bytes.ToLower(raw[:min(len(raw), 400)]), []byte("connection: close"))
		if r.Reused != (i > 0 && reusable) {
			t.Errorf("exchange %d: Reused = %v", i, r.Reused)
		}
		if r.Status == export.StatusOK && !r.Responses[len(r.Responses)-1].Final {
			t.Errorf("exchange %d: the last response is not final", i)
		}
	}
}

// For any bytes of a server, an exchange ends with a status and keeps its invariants.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n"))
	f.Add([]byte("HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nabcdef"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	f.Add([]byte("\x15\x03\x01"))
	b, err := New(Config{URL: "localhost:1", MaxAnswerMemory: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				_, _ = server.Write(answer)
			}
		}()
		s := senderOver(t, b, client)
		defer s.Close()
		x := &backend.Exchange{}
		s.Send(t.Context(), b.newPayload("POST", "/", []byte("{}")), x)
		if err := b.Decode(x); err != nil {
			t.Fatalf("Decode: %v", err)
		}
		checkInvariants(t, x)
	})
}
