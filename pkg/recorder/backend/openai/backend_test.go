package openai

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func TestMain(m *testing.M) { nettest.RunStamped(m) }

// newBackend is New for configurations that are right.
func newBackend(t testing.TB, cfg Config) *Backend {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

// onEach runs f with each transport that this system has.
func onEach(t *testing.T, f func(t *testing.T, tr Transport)) {
	t.Helper()
	all := []Transport{NetHTTP}
	if runtime.GOOS == "linux" {
		all = append(all, Loop)
	}
	for _, tr := range all {
		t.Run(tr.String(), func(t *testing.T) { f(t, tr) })
	}
}

// A connector is a sender that tells of its connection.
type connector interface {
	connected() bool
	stamps() (receive, transmit bool, why string)
}

func (s *sender) connected() bool                              { return s.conn != nil }
func (s *sender) stamps() (receive, transmit bool, why string) { return s.conn.raw.Stamps() }

// entry is a workload entry with body as its payload.
func entry(body string) *workload.Entry {
	return &workload.Entry{Values: export.Fields{{Name: "payload", Value: export.JSON("[" + body + "]")}}}
}

func prepare(t testing.TB, b *Backend, body string) backend.Payload {
	t.Helper()
	p, err := b.Prepare(entry(body))
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return p
}

func open(t testing.TB, b *Backend) backend.Sender {
	t.Helper()
	s, err := b.Open(context.Background(), 0, rxclock.New())
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// senderOver returns a sender that has nc as its connection.
func senderOver(t testing.TB, b *Backend, nc net.Conn) *sender {
	t.Helper()
	raw, err := sockstamp.Wrap(nc)
	if err != nil {
		t.Fatal(err)
	}
	return senderOn(t, b, &dialedConn{nc: raw, raw: raw})
}

// senderOn returns a sender that has l as its connection.
func senderOn(t testing.TB, b *Backend, l *dialedConn) *sender {
	t.Helper()
	c, err := b.connOn(t.Context(), l, rxclock.New())
	if err != nil {
		t.Fatal(err)
	}
	s := newSender(b, rxclock.New())
	s.conn = c
	return s
}

// exchange sends body over s and decodes the answer.
func exchange(ctx context.Context, t testing.TB, b *Backend, s backend.Sender, body string) *backend.Exchange {
	t.Helper()
	x := &backend.Exchange{}
	exchangeInto(ctx, t, b, s, body, x)
	return x
}

// exchangeInto is exchange with an Exchange of the caller.
func exchangeInto(ctx context.Context, t testing.TB, b *Backend, s backend.Sender, body string, x *backend.Exchange) {
	t.Helper()
	x.Pack() // as the recorder does
	s.Send(ctx, prepare(t, b, body), x)
	x.Unpack(&backend.Scratch{})
	if err := b.Decode(x); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	backend.PutInOrder(&x.Request) // as the recorder does: in a burst the kernel's stamps may go back by some µs
	checkInvariants(t, x)
}

// checkInvariants checks what holds for every exchange.
func checkInvariants(t testing.TB, x *backend.Exchange) {
	t.Helper()
	r := &x.Request
	if r.Status == export.StatusUnknown {
		t.Error("Status is unknown")
	}
	if (r.Status == export.StatusOK) != (r.Message == "") {
		t.Errorf("Status %v with Message %q", r.Status, r.Message)
	}
	if strings.ContainsAny(r.Message, "\r\n") || len(r.Message) > 700 {
		t.Errorf("Message is not a short line: %q", r.Message)
	}
	if len(r.Responses) != len(x.Raw) {
		t.Fatalf("%d responses, %d raw", len(r.Responses), len(x.Raw))
	}
	if r.IssuedNS == 0 {
		t.Error("IssuedNS is 0")
	}
	if len(x.Raw) == 0 {
		return
	}
	times := []uint64{r.IssuedNS, r.StartNS, r.SentNS}
	if r.SentNS <= r.FirstByteNS { // else the server answered before it had read
		times = append(times, r.FirstByteNS)
	}
	read := uint32(0)
	for i, resp := range r.Responses {
		times = append(times, resp.RecvNS)
		if resp.Read < read || i > 0 && resp.Read == read && resp.RecvNS != r.Responses[i-1].RecvNS {
			t.Errorf("response %d: read %d at %d after read %d at %d", i, resp.Read, resp.RecvNS, read, r.Responses[max(0, i-1)].RecvNS)
		}
		read = resp.Read
		if v, ok := resp.Outputs.Get("response"); !ok || !v.Text || !bytes.Equal(v.Data, x.Raw[i]) {
			t.Errorf("response %d: output %q is not its raw bytes %q", i, v.Data, x.Raw[i])
		}
		if resp.Source == export.SourceUnknown {
			t.Errorf("response %d: source %v", i, resp.Source)
		}
	}
	for i := 1; i < len(times); i++ {
		if times[i] < times[i-1] {
			t.Errorf("times go back: %d after %d (issued, start, sent, first byte, responses: %v)", times[i], times[i-1], times)
			break
		}
	}
}

// joined returns all raw bytes.
func joined(x *backend.Exchange) string { return string(bytes.Join(x.Raw, nil)) }

// serve runs h on a test server.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// serveRaw answers the n-th request (from 0, over all connections) with what
// answer writes, and closes the connection when answer returns false.
func serveRaw(t testing.TB, answer func(c net.Conn, n int, body []byte) bool) (addr string) {
	t.Helper()
	var requests atomic.Int64
	return nettest.StartServer(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			if !answer(c, int(requests.Add(1)-1), body) {
				return
			}
		}
	})
}

// write is io.WriteString for connections that may be gone.
func write(c net.Conn, s string) bool {
	_, err := io.WriteString(c, s)
	return err == nil
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

// event is a chat chunk with content as its event.
func event(content string) string {
	return `data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` + content + `"},"finish_reason":null}]}` + "\n\n"
}

const (
	finish = `data: {"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done   = "data: [DONE]\n\n"
)

func TestNewInvalid(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no URL", Config{}, "no URL; give the server with -u host:port or -u http://host:port"},
		{"scheme", Config{URL: "grpc://user:secret@h:1"}, `URL grpc://h:1: scheme "grpc"; use http or https`},
		{"port", Config{URL: "http://user:secret@h:x"}, "the URL cannot be read: invalid port; write host:port or http://host:port"},
		{"port that is too large", Config{URL: "http://user:secret@h:80000"}, "URL http://h:80000: 80000 is not a port; give a port from 1 to 65535"},
		{"password without host", Config{URL: "http://user:secret"}, "the URL cannot be read: invalid port; write host:port or http://host:port"},
		{"escape", Config{URL: "http://user:%zz@h"}, "the URL cannot be read: invalid URL escape; write host:port or http://host:port"},
		{"no host", Config{URL: "http:///v1"}, "the URL has no host; write host:port or http://host:port"},
		{"endpoint", Config{URL: "h", Endpoint: "v1/chat completions"}, `endpoint "v1/chat completions": expected a path without white space`},
		{"header name", Config{URL: "h", Headers: []Header{{"a b", "secret"}}}, `header "a b": ' ' cannot be part of a header's name`},
		{"header without name", Config{URL: "h", Headers: []Header{{"", "secret"}}}, "a header without a name; write 'Name: value'"},
		{"header value", Config{URL: "h", Headers: []Header{{"K", "secret\r\nX: y"}}}, `header K: its value holds a control character ('\r')`},
		{"framing header", Config{URL: "h", Headers: []Header{{"content-length", "3"}}}, "header content-length cannot be set; it follows from the request"},
		{"compression", Config{URL: "h", Headers: []Header{{"Accept-Encoding", "gzip"}}}, "header Accept-Encoding cannot be set; a compressed answer would hide when its tokens came"},
		{"extra body", Config{URL: "h", ExtraBody: []byte(`[1]`)}, `extra body: JSON, byte 0: expected an object, found "[1]"`},
		{"unknown place", Config{URL: "h", Headers: []Header{{"X-A", "{{user}}"}}}, "header X-A: {{user}} is not a placeholder; expected {{session}}, {{parent}}, {{turn}} or {{request}}"},
		{"place in a header of the connection", Config{URL: "h", Headers: []Header{{"user-agent", "{{turn}}"}}}, "header user-agent: expected one value for all requests; drop {{…}}"},
		{"set and returned", Config{URL: "h", Headers: []Header{{"x-a", "v"}}, ReturnHeader: "X-A"}, "header x-a is both set and returned; drop one"},
		{"returned header's name", Config{URL: "h", ReturnHeader: "a b"}, `header "a b": ' ' cannot be part of a header's name`},
		{"all at once", Config{Headers: []Header{{"", ""}}}, "no URL; give the server with -u host:port or -u http://host:port\na header without a name; write 'Name: value'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil || err.Error() != tt.want {
				t.Errorf("New = %v, want %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}
