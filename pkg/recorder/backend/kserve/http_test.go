package kserve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

func TestHTTP(t *testing.T) {
	arrived := make(chan struct{}, 10)
	f := startFake(t, func(ctx context.Context, req *wire.Request, send func(wire.Response)) error {
		switch req.ID {
		case "1", "3":
			send(wire.Response{ID: req.ID, Outputs: []wire.Tensor{{Name: "SUM", Datatype: wire.INT32, Shape: []int64{2}, Data: req.Inputs[0].Data}}})
			return nil
		case "2":
			return errors.New("bad input")
		}
		arrived <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	b := f.open(t, Config{Model: "adder"})
	s := openSlot(t, b, 0)
	p := prepare(t, b, entry("A", "[1,-2]"))
	for i, tt := range []struct {
		want   string
		reused bool
	}{
		{"ok 200 [[1,-2]]", false},
		{`http_error 400 "bad input" [E]`, true},
		{"ok 200 [[1,-2]]", true},
	} {
		x := exchange(t.Context(), t, b, s, p, uint64(i+1))
		if got := show(x); got != tt.want {
			t.Errorf("\ngot  %s\nwant %s", got, tt.want)
		}
		r := &x.Request
		if r.Reused != tt.reused || r.FirstByteNS < r.StartNS || r.FirstByteNS > r.Responses[0].RecvNS || !r.Reused && r.Connect == 0 {
			t.Errorf("request %d: %+v", i+1, r)
		}
	}
	testStop(t, arrived, b, s, p)
}

// Answers that are not what they should be.
func TestHTTPBroken(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		handle     http.HandlerFunc
	}{
		{"body cut short", `truncated 200 "the connection broke before the end of the answer: unexpected EOF"`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"outputs":[]}`))
		}},
		{"error under status 200", `protocol_error 200 "boom" [E]`, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"error":"boom"}`))
		}},
		{"error that is not JSON", `http_error 502 "HTTP status 502: <h1>bad gateway</h1>" [E]`, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<h1>bad\ngateway</h1>\n"))
		}},
		{"nothing", `http_error 500 "HTTP status 500" [E]`, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"no length", `ok 200 [7]`, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"outputs":[{"name":"SUM","datatype":"INT32","shape":[1],"data":[7]}]`))
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte(`}`))
		}},
		{"compressed", `ok 200 [7]`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, gzipped(t, `{"outputs":[{"name":"SUM","datatype":"INT32","shape":[1],"data":[7]}]}`))
		}},
		{"compressed, says nothing", `ok 200 [7]`, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, gzipped(t, `{"outputs":[{"name":"SUM","datatype":"INT32","shape":[1],"data":[7]}]}`))
		}},
		{"connection cut", `truncated "the connection was closed without an answer: EOF"`, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = c.Close()
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := httptest.NewServer(tt.handle)
			defer h.Close()
			b, err := New(Config{URL: h.URL, Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			b.outputs = []string{"SUM"}
			x := exchange(t.Context(), t, b, openSlot(t, b, 0), &payload{msg: []byte(`"inputs":[]}`), json: 12}, 1)
			if got := show(x); got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestHTTPRefused(t *testing.T) {
	l := nettest.Listen(t)
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{URL: addr, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	x := exchange(t.Context(), t, b, openSlot(t, b, 0), &payload{msg: []byte(`"inputs":[]}`), json: 12}, 1)
	if r := &x.Request; r.Status != export.StatusConnectError || !strings.Contains(r.Message, "connection refused") || r.StartNS != 0 {
		t.Errorf("%s, start %d", show(x), r.StartNS)
	}
}

func TestHTTPPath(t *testing.T) {
	f := startFake(t, nil)
	b, err := New(Config{URL: "http://" + f.httpAddr + "/base/", Model: "adder"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
