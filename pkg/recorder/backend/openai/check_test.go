package openai

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func TestCheck(t *testing.T) {
	list := func(names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, fmt.Sprintf(`{"id":%q,"object":"model"}`, n))
		}
		return `{"object":"list","data":[` + strings.Join(all, ",") + `]}`
	}
	for _, tt := range []struct {
		name    string
		model   string // asked for
		code    int
		headers string // of the answer
		body    string
		want    string // the model used
		err     string // after the URL
		warn    string // after the URL
	}{
		{name: "the only one", code: 200, body: list("tiny"), want: "tiny"},
		{name: "listed", model: "b", code: 200, body: list("a", "b"), want: "b"},
		{name: "several, none asked for", code: 200, body: list("a", "b")},
		{name: "llama.cpp: alias", model: "al", code: 200, body: `{"models":[{"name":"x"}],"data":[{"id":"tiny","aliases":["tiny","al"]}]}`, want: "al"},
		{name: "llama.cpp: alias of the only one", code: 200, body: `{"data":[{"id":"tiny","aliases":["al"]}]}`, want: "tiny"},
		{name: "Ollama: latest", model: "llama3", code: 200, body: list("llama3:latest"), want: "llama3"},
		{name: "not listed", model: "x", code: 200, body: list("a", "b"), want: "x", warn: `does not list model "x"; it lists "a", "b"; pa-record sends "x" anyway`},
		{name: "not listed, many", model: "x", code: 200, body: list("a", "b", "c", "d", "e", "f", "g"), want: "x", warn: `does not list model "x"; it lists "a", "b", "c", "d", "e" and 2 more; pa-record sends "x" anyway`},
		{name: "not listed, a long name", model: "x", code: 200, body: list(strings.Repeat("a", 100)), want: "x", warn: `does not list model "x"; it lists "` + strings.Repeat("a", 80) + `"; pa-record sends "x" anyway`},
		{name: "a list that repeats the key", model: "x", code: 200, body: list("a", "secret-1"), want: "x", warn: `does not list model "x"; it lists "a", "[redacted]"; pa-record sends "x" anyway`},
		{name: "trtllm-serve: the base name of a path", model: "/path/to/llama", code: 200, body: list("llama"), want: "/path/to/llama", warn: `does not list model "/path/to/llama", but its base name "llama"; pa-record sends "/path/to/llama" anyway; if the server refuses it, give --model llama`},
		{name: "a path whose base name is not listed either", model: "org/b", code: 200, body: list("a"), want: "org/b", warn: `does not list model "org/b"; it lists "a"; pa-record sends "org/b" anyway`},
		{name: "OpenRouter: a variant", model: "meta/llama:nitro", code: 200, body: list("meta/llama"), want: "meta/llama:nitro", warn: `does not list model "meta/llama:nitro"; it lists "meta/llama"; pa-record sends "meta/llama:nitro" anyway`},
		{name: "LiteLLM: a pattern", model: "openai/gpt-4o", code: 200, body: list("anthropic/*", "openai/*"), want: "openai/gpt-4o"},
		{name: "LiteLLM: another pattern", model: "openai/gpt-4o", code: 200, body: list("anthropic/*"), want: "openai/gpt-4o", warn: `does not list model "openai/gpt-4o"; it lists "anthropic/*"; pa-record sends "openai/gpt-4o" anyway`},
		{name: "the only one is a pattern", code: 200, body: list("openai/*")},
		{name: "empty list", model: "x", code: 200, body: list(), want: "x"},
		{name: "no list", model: "x", code: 200, body: `<html>`, want: "x"},
		{name: "another object", code: 200, body: `{"data":"x"}`},
		{name: "nothing", code: 200},
		{name: "404", model: "x", code: 404, body: `{"detail":"Not Found"}`, want: "x"},
		{name: "405", code: 405},
		{name: "500", code: 500, body: "oops"},
		{name: "400", code: 400, body: "no"},
		{name: "401", code: 401, body: `{"error":{"message":"no key"}}`, err: "401 unauthorized: no key; give -H 'Authorization: Bearer …' or OPENAI_API_KEY"},
		{name: "403", code: 403, body: `secret-1`, err: "403 forbidden: [redacted]; give -H 'Authorization: Bearer …' or OPENAI_API_KEY"},
		{name: "llama.cpp while loading", code: 503, body: `{"error":{"message":"Loading model","code":503}}`, err: "503 service unavailable: Loading model; is the server ready?"},
		{name: "gateway", code: 502, body: "<html><title>502 Bad Gateway</title>", headers: "Content-Type: text/html\r\n", err: "502 bad gateway: 502 Bad Gateway; is the server ready?"},
		{name: "TLS port of a Go server", code: 400, body: "Client sent an HTTP request to an HTTPS server.\n", err: "400 bad request: Client sent an HTTP request to an HTTPS server.; use https:// in -u"},
		{name: "moved to TLS", code: 301, headers: "Location: https://h/v1/models\r\n", err: "301 moved permanently: redirected to https://h/v1/models; give that URL instead"},
		{name: "moved elsewhere", model: "x", code: 307, headers: "Location: /v1/models/\r\n", want: "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				return write(c, fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s", tt.code, tt.headers, len(tt.body), tt.body))
			})
			b := newBackend(t, Config{URL: "http://user:pw-secret@" + addr, Model: tt.model, Headers: []Header{{"K", "secret-1"}}})
			checkError(t, b.Check(t.Context()), "http://"+addr+"/v1/models: ", tt.err)
			if got := b.Model(); got != tt.want {
				t.Errorf("Model() = %q, want %q", got, tt.want)
			}
			var got, want []string
			for _, w := range b.CheckWarnings() {
				got = append(got, w.Text)
			}
			if tt.warn != "" {
				want = []string{"http://" + addr + "/v1/models " + tt.warn}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
		})
	}
}

// The message about a missing key names the header and the variable of the service.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"v1/completions": "give -H 'Authorization: Bearer …' or OPENAI_API_KEY",
		"v1/messages":    "give -H 'x-api-key: …' or ANTHROPIC_API_KEY",
		"api/chat":       "give -H 'Authorization: Bearer …' or OLLAMA_API_KEY",
		"v1beta/models/m:streamGenerateContent?alt=sse": "give -H 'x-goog-api-key: …' or GEMINI_API_KEY",
	} {
		b := newBackend(t, Config{URL: "localhost:1", Endpoint: endpoint})
		if err := b.checkStatus(401, "no key"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", endpoint, err, want)
		}
	}
}

func TestCheckWrongServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, err string }{
		{"gRPC", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", "the server speaks HTTP/2, so this is probably a gRPC port; give its HTTP port with -u"},
		{"TLS", "\x15\x03\x01\x00\x02\x02\x46", "the server speaks TLS; use https:// in -u"},
		{"SSH", "SSH-2.0-x\r\n", `the server does not speak HTTP: its answer begins with "SSH-2"; is -u right?`},
		{"mute", "", "the connection was closed without an answer: EOF; is -u the server's HTTP port?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				write(c, tt.answer)
				return false
			})
			checkError(t, newBackend(t, Config{URL: addr}).Check(t.Context()), "http://"+addr+"/v1/models: ", tt.err)
		})
	}
	for _, tt := range []struct{ name, greeting, err string }{
		{"SSH, which speaks first", "SSH-2.0-x\r\n", `the server does not speak HTTP: its answer begins with "SSH-2"; is -u right?`},
		{"gRPC that speaks first", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", "the server speaks HTTP/2, so this is probably a gRPC port; give its HTTP port with -u"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := nettest.StartServer(t, func(c net.Conn) {
				write(c, tt.greeting)
				_, _ = io.Copy(io.Discard, c)
			})
			checkError(t, newBackend(t, Config{URL: addr}).Check(t.Context()), "http://"+addr+"/v1/models: ", tt.err)
		})
	}
	t.Run("refused", func(t *testing.T) {
		l := nettest.Listen(t)
		addr := l.Addr().String()
		l.Close()
		checkError(t, newBackend(t, Config{URL: addr}).Check(t.Context()), "http://"+addr+"/v1/chat/completions: ", "connection refused; is the server running, and is -u right?")
	})
	t.Run("https to a plain port", func(t *testing.T) {
		srv := serve(t, func(http.ResponseWriter, *http.Request) {})
		checkError(t, newBackend(t, Config{URL: strings.Replace(srv.URL, "http", "https", 1)}).Check(t.Context()),
			strings.Replace(srv.URL, "http", "https", 1)+"/v1/chat/completions: ", "the server does not speak TLS; use http:// in -u")
	})
	t.Run("http to a TLS port", func(t *testing.T) {
		srv := httptest.NewTLSServer(nil)
		defer srv.Close()
		url := strings.Replace(srv.URL, "https", "http", 1)
		checkError(t, newBackend(t, Config{URL: url}).Check(t.Context()), url+"/v1/models: ",
			"400 bad request: Client sent an HTTP request to an HTTPS server.; use https:// in -u")
	})
	t.Run("https to a plain port that waits for a line", func(t *testing.T) {
		addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
			return write(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
		})
		b := newBackend(t, Config{URL: "https://" + addr})
		b.handshakeTimeout = 100 * time.Millisecond
		checkError(t, b.Check(t.Context()), "https://"+addr+"/v1/chat/completions: ", "the server speaks plain HTTP, not TLS; use http:// in -u")
	})
	t.Run("https to a port that is mute", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		t.Parallel() // it waits for two seconds
		addr := l.Addr().String()
		b := newBackend(t, Config{URL: "https://" + addr})
		b.handshakeTimeout = 100 * time.Millisecond
		checkError(t, b.Check(t.Context()), "https://"+addr+"/v1/chat/completions: ", "no TLS handshake in time; if the server speaks plain HTTP, use http:// in -u")
	})
	t.Run("http to a TLS port that closes", func(t *testing.T) {
		addr := nettest.StartServer(t, func(c net.Conn) {
			first := make([]byte, 1)
			if _, err := io.ReadFull(c, first); err == nil && first[0] == 22 {
				write(c, "\x15\x03\x03\x00\x02\x02\x28") // alert: handshake failure
			}
		})
		checkError(t, newBackend(t, Config{URL: addr}).Check(t.Context()), "http://"+addr+"/v1/models: ", "the server speaks TLS; use https:// in -u")
	})
	t.Run("cancelled", func(t *testing.T) {
		addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
			_, _ = io.Copy(io.Discard, c)
			return false
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		checkError(t, newBackend(t, Config{URL: addr}).Check(ctx), "http://"+addr+"/v1/models: ", "context canceled")
	})
	t.Run("no answer", func(t *testing.T) {
		addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
			_, _ = io.Copy(io.Discard, c)
			return false
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50_000_000)
		defer cancel()
		checkError(t, newBackend(t, Config{URL: addr}).Check(ctx), "http://"+addr+"/v1/models: ", "no answer in time; is -u the server's HTTP port?")
	})
}

// The server's model gets into bodies that name none.
func TestCheckThenPrepare(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"tiny"}]}`) })
	b := newBackend(t, Config{URL: srv.URL})
	if err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := b.Prepare(&workload.Entry{Values: export.Fields{{Name: "payload", Value: export.JSON(`[{"a":1}]`)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.Inputs()[0].Value.Data), `{"a":1,"model":"tiny"}`; got != want {
		t.Errorf("payload %s, want %s", got, want)
	}
}

// checkError compares err with prefix and want; want "" is no error.
func checkError(t *testing.T, err error, prefix, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("Check = %v, want no error", err)
	case want != "" && (err == nil || err.Error() != prefix+want):
		t.Errorf("Check = %v, want %s%s", err, prefix, want)
	}
}
