package backend

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proxy returns a connection to what reads a request's head and says answer,
// whatever it was; asked is the request, once answered.
func proxy(t *testing.T, answer string) (nc net.Conn, asked <-chan *http.Request) {
	t.Helper()
	near, far := net.Pipe()
	requests := make(chan *http.Request, 1)
	done := make(chan struct{})
	go func() { // ends with the pipe
		defer close(done)
		defer far.Close()
		r, err := http.ReadRequest(bufio.NewReader(far))
		if err != nil {
			return
		}
		requests <- r
		_, _ = io.WriteString(far, answer)
	}()
	t.Cleanup(func() { near.Close(); <-done })
	return near, requests
}

// What comes behind the answer is left for who reads next.
func TestConnectThrough(t *testing.T) {
	nc, asked := proxy(t, "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nhello")
	if err := ConnectThrough(t.Context(), nc, "llm.test:443", url.UserPassword("bob", "secret")); err != nil {
		t.Fatal(err)
	}
	r := <-asked
	if r.Method != http.MethodConnect || r.Host != "llm.test:443" || r.Header.Get("Proxy-Authorization") != "Basic Ym9iOnNlY3JldA==" || r.UserAgent() != UserAgent || len(r.Header) != 2 {
		t.Errorf("asked %s %s, %v", r.Method, r.Host, r.Header)
	}
	if rest, err := io.ReadAll(nc); string(rest) != "hello" || err != nil {
		t.Errorf("behind the answer %q, %v; want hello", rest, err)
	}
}

func TestConnectThroughErrors(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"denied", "HTTP/1.1 403 Not \t for you\r\n\r\n", "it answers CONNECT with 403 Not for you"},
		{"who asks?", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 3\r\n\r\nno\n", "it answers CONNECT with 407 Proxy Authentication Required; give its name and password as http://name:password@host:port"},
		{"not HTTP", "SSH-2.0-x\r\n\r\n", "its answer to CONNECT is not HTTP"},
		{"edge: nothing", "", "no answer to CONNECT: EOF"},
		{"edge: half a head", "HTTP/1.1 200 OK\r\n", "no answer to CONNECT: EOF"},
		{"edge: a head without end", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeadBytes), "no answer to CONNECT: its head is longer than 65536 bytes"},
		{"edge: an endless reason", "HTTP/1.1 500 " + strings.Repeat("x", 1000) + "\r\n\r\n", "it answers CONNECT with 500 " + strings.Repeat("x", 196)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nc, asked := proxy(t, tt.answer)
			err := ConnectThrough(t.Context(), nc, "a:1", nil)
			if err == nil || err.Error() != tt.want {
				t.Errorf("\ngot  %v\nwant %s", err, tt.want)
			}
			if a := (<-asked).Header.Get("Proxy-Authorization"); a != "" {
				t.Errorf("authorization %q", a)
			}
			var refused *ProxyRefusedError
			if errors.As(err, &refused) != strings.Contains(tt.want, "answers") {
				t.Errorf("%T", err)
			}
		})
	}
}

// A proxy that says nothing is waited for as long as the context.
func TestConnectGivenUp(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the request is read
		_, _ = http.ReadRequest(bufio.NewReader(far))
		cancel()
	}()
	if err := ConnectThrough(ctx, near, "a:1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// Whatever a proxy answers, a connection that came about has exactly what came
// behind the answer's head; and an error is one line.
func FuzzConnect(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200\r\nA: b\r\n\r\n\r\n\r\n", "HTTP/1.1 407 No\r\n\r\nbody",
		"SSH-2.0-x\r\n\r\n", "", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		nc := &answering{rest: answer}
		err := ConnectThrough(t.Context(), nc, "a:1", nil)
		_, behind, whole := strings.Cut(string(answer), "\r\n\r\n")
		switch {
		case err == nil && (!whole || string(nc.rest) != behind):
			t.Errorf("%q: left %q, want %q", answer, nc.rest, behind)
		case err != nil && strings.ContainsAny(err.Error(), "\r\n"):
			t.Errorf("%q: %q is more than a line", answer, err)
		}
	})
}

// An answering connection takes everything and reads what is left of rest.
type answering struct {
	net.Conn
	rest []byte
}

func (c *answering) Write(p []byte) (int, error) { return len(p), nil }

func (c *answering) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
