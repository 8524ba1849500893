package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// No way of printing a header or a Config shows the value.
func TestHeaderHidesValue(t *testing.T) {
	h := Header{Name: "Authorization", Value: "Bearer sk-secret"}
	cfg := Config{URL: "h", Headers: []Header{h}}
	asJSON, err := json.Marshal(cfg.Headers)
	if err != nil {
		t.Fatal(err)
	}
	printed := []string{
		string(asJSON), fmt.Sprint(h, &h, cfg, []Header{h}), fmt.Sprintf("%v|%+v|%#v|%s|%q|%d|%x", h, h, h, h, h, h, h),
		fmt.Sprintf("%v|%+v|%#v", cfg, cfg, cfg),
	}
	for _, s := range printed {
		if strings.Contains(s, "sk-secret") || strings.Contains(s, fmt.Sprintf("%x", "sk-secret")) {
			t.Errorf("shows the value: %s", s)
		}
		if !strings.Contains(s, "Authorization: [redacted]") {
			t.Errorf("does not show the name: %s", s)
		}
	}
}

// Headers with places have the values of their request, on each transport, and the requests of Check lack them. What an answer
// said in the returned header goes with the next request of the agent.
func TestRequestHeadersSent(t *testing.T) {
	run := func(t *testing.T, cfg Config, got *heard) {
		cfg.Headers = []Header{{"X-Fixed", "f"}, {"x-session", "{{session}}"}, {"X-Parent", "{{parent}}"}, {"X-Turn", "t{{turn}}"}, {"authorization", "Bearer {{request}}"}}
		cfg.ReturnHeader, cfg.RequestIDSeed = "X-Token", 5
		b := newBackend(t, cfg)
		if err := b.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := open(t, b)
		body := `{"a":"` + strings.Repeat("x", 100_000) + `"}`
		var root, child backend.Line
		var ids []string
		for i, r := range []export.Request{{SessionID: "s"}, {SessionID: "s", Turn: 1}, {SessionID: "s", Agent: "a", Depth: 1}, {SessionID: "s", Turn: 2}} {
			r.ID = uint64(i + 1)
			x := &backend.Exchange{Request: r, Line: &root}
			if r.Depth > 0 {
				x.Line = &child
			}
			x.Pack()
			s.Send(t.Context(), prepare(t, b, body), x)
			if x.Request.Status != export.StatusOK {
				t.Fatalf("%v: %s", x.Request.Status, x.Request.Message)
			}
			ids = append(ids, x.Request.RequestID)
		}
		want := []string{
			"GET f - - - - -",
			"POST f s - t0 " + ids[0] + " -",
			"POST f s - t1 " + ids[1] + " token-1",
			"POST f s/a s t0 " + ids[2] + " -",
			"POST f s - t2 " + ids[3] + " token-2",
		}
		if sent := got.all(); !slices.Equal(sent, want) {
			t.Errorf("sent\n%q, want\n%q", sent, want)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 4 {
			t.Errorf("ids %q are not distinct", ids)
		}
	}
	handler := func(got *heard) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			line := r.Method
			for _, name := range []string{"X-Fixed", "X-Session", "X-Parent", "X-Turn", "Authorization", "X-Token"} {
				value := strings.Join(r.Header.Values(name), ",")
				if value == "" {
					value = "-"
				}
				line += " " + strings.TrimPrefix(value, "Bearer ")
			}
			n := got.add(line)
			if r.Method == http.MethodGet {
				fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
				return
			}
			if body, err := io.ReadAll(r.Body); err != nil || len(body) < 100_000 {
				t.Errorf("a body of %d bytes, %v", len(body), err)
			}
			w.Header().Set("X-Token", fmt.Sprint("token-", n-1))
			fmt.Fprint(w, `{"choices":[]}`)
		}
	}
	onEach(t, func(t *testing.T, tr Transport) {
		var got heard
		run(t, Config{Transport: tr, URL: serve(t, handler(&got)).URL}, &got)
	})
	t.Run("HTTP/2", func(t *testing.T) {
		var got heard
		run(t, serveHTTP2(t, false, handler(&got)), &got)
	})
}

// heard is what a server received, a line a request.
type heard struct {
	mu    sync.Mutex
	lines []string
}

// add adds a line, and returns how many there are.
func (h *heard) add(line string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
	return len(h.lines)
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

// The texts beside places are secrets like whole values; the values of places are none.
func TestPlacedHeaderHidesSecrets(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"message":"bad %s"}}`, r.Header.Get("Api-Key"))
	})
	b := newBackend(t, Config{URL: srv.URL, Headers: []Header{{"Api-Key", "sk-secret-{{request}}"}, {"X-Request-Id", "{{request}}"}}})
	x := exchange(t.Context(), t, b, open(t, b), `{}`)
	r := &x.Request
	if want := "bad [redacted]" + r.RequestID; r.Message != want || r.RequestID == "" || r.ServerID != r.RequestID {
		t.Errorf("message %q, want %q; id %q, the server's %q", r.Message, want, r.RequestID, r.ServerID)
	}
}

// A request costs no allocation more if no header has a place.
func TestNoPlacesNoCost(t *testing.T) {
	b := newBackend(t, Config{URL: "h", Headers: []Header{{"X-A", "v"}}})
	p := prepare(t, b, `{}`).(*payload)
	x := &backend.Exchange{Line: &backend.Line{}}
	if n := testing.AllocsPerRun(100, func() {
		if b.withHeaders(p, x) != p {
			t.Error("the request was copied")
		}
		b.perRequest.Returned(x, http.Header{}.Get)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
