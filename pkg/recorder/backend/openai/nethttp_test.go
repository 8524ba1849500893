package openai

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A countedConn counts writes.
type countedConn struct {
	net.Conn
	mu     sync.Mutex
	writes []int // bytes of each
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.writes = append(c.writes, len(p))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// A request is one write, however long its body and its head.
func TestNetHTTPWritesOnce(t *testing.T) {
	for _, tt := range []struct{ name, header, body string }{
		{"short", "v", `{}`},
		{"a body longer than net/http's buffer", "v", `{"a":"` + strings.Repeat("x", 100_000) + `"}`},
		{"much longer", "v", `{"a":"` + strings.Repeat("x", 2*maxHeldBytes) + `"}`},
		{"a head longer than the buffer", strings.Repeat("v", 9000), `{"a":"` + strings.Repeat("x", 5000) + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan string, 2)
			addr := serveRaw(t, func(c net.Conn, _ int, body []byte) bool {
				got <- string(body)
				return write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			})
			b := newBackend(t, Config{Transport: NetHTTP, URL: addr, Headers: []Header{{"X-A", tt.header}}})
			l, err := b.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counted := &countedConn{Conn: l.nc}
			l.nc = counted
			s := senderOn(t, b, l)
			defer s.Close()
			for range 2 {
				x := exchange(t.Context(), t, b, s, tt.body)
				if x.Request.Status != export.StatusOK {
					t.Fatalf("%v: %s", x.Request.Status, x.Request.Message)
				}
				if body := <-got; body != tt.body {
					t.Errorf("a body of %d bytes came, want %d", len(body), len(tt.body))
				}
			}
			counted.mu.Lock()
			defer counted.mu.Unlock()
			if len(counted.writes) != 2 {
				t.Errorf("writes of %d bytes, want one a request", counted.writes)
			}
		})
	}
}

// Package net/http sends the prepared headers: the same ones, as often, in the same case, in the
// order of their names.
func TestNetHTTPRequest(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Endpoint: "v1/compl%65tions?a=%20b"},
		{Headers: []Header{{"X-Two", "a"}, {"X-Two", "b"}, {"x-lower", "c"}, {"user-agent", "mine"}, {"Accept", "text/event-stream"}}},
		{Headers: []Header{{"authorization", "Bearer x-secret"}, {"host", "other:1"}, {"content-type", "application/x"}}},
	} {
		client, server := net.Pipe()
		cfg.URL = "http://u:pw-secret@127.0.0.1:9/base?q=1"
		b := newBackend(t, cfg)
		s := senderOver(t, b, client)
		p := prepare(t, b, `{"a":1}`).(*payload)
		got := make(chan string)
		go func() {
			defer server.Close()
			buf := make([]byte, 64<<10)
			n, _ := server.Read(buf) // the request is one write
			write(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			got <- string(buf[:n])
		}()
		s.Send(t.Context(), p, &backend.Exchange{})
		if diff := cmp.Diff(headLines(string(p.request)), headLines(<-got)); diff != "" {
			t.Errorf("request (-prepared +sent):\n%s", diff)
		}
		s.Close()
	}
}

// headLines returns the lines of a request, its headers sorted. Headers that net/http
// writes itself have the names that net/http gives them.
func headLines(request string) []string {
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	byName := map[string]bool{}
	for i, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ":")
		switch strings.ToLower(name) {
		case "host", "user-agent":
			name = strings.ToLower(name)
		}
		lines[i+1] = name + ":" + value
		byName[name] = true
	}
	sorted := lines[1:]
	for i := range sorted { // stable by name
		for j := i; j > 0 && strings.SplitN(sorted[j], ":", 2)[0] < strings.SplitN(sorted[j-1], ":", 2)[0]; j-- {
			sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
		}
	}
	return append(lines, body)
}

// net/http gives a chunk that comes in pieces when it is complete; its events
// still have the stamps of the reads that brought them.
func TestNetHTTPReadsWithinChunk(t *testing.T) {
	for name, framing := range map[string]struct{ head, before, after string }{
		"chunk":        {"Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n", len(event("a")+event("b")+done)), "\r\n0\r\n\r\n"},
		"length":       {fmt.Sprintf("Content-Length: %d\r\n\r\n", len(event("a")+event("b")+done)), "", ""},
		"until closed": {"\r\n", "", ""},
		"interim": {
			"\r\nHTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
			fmt.Sprintf("%x\r\n", len(event("a")+event("b")+done)), "\r\n0\r\n\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan bool, 1)
			head := streamHead
			if name == "interim" {
				head = "HTTP/1.1 102 Processing\r\n"
			}
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				write(c, head+framing.head+framing.before+event("a")+event("b")[:10])
				<-next
				return write(c, event("b")[10:]+done+framing.after) && name != "until closed"
			})
			b := newBackend(t, Config{Transport: NetHTTP, URL: addr})
			l, err := b.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l.nc = &hookConn{Conn: l.nc, after: func() { next <- true }}
			s := senderOn(t, b, l)
			defer s.Close()
			x := exchange(t.Context(), t, b, s, `{}`)
			r := x.Request.Responses
			if len(r) != 3 || x.Request.Status != export.StatusOK {
				t.Fatalf("%v, %d responses: %s", x.Request.Status, len(r), x.Request.Message)
			}
			if r[0].Read != 0 || r[1].Read == 0 || r[2].Read < r[1].Read || r[0].RecvNS >= r[1].RecvNS {
				t.Errorf("reads %d %d %d at %d %d %d, want the first alone", r[0].Read, r[1].Read, r[2].Read, r[0].RecvNS, r[1].RecvNS, r[2].RecvNS)
			}
		})
	}
}

// Bytes after an answer are not an answer to the next request, and net/http
// does not get to print them.
func TestNetHTTPSurplus(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	for name, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 500 X\r\n\r\n",
		"chunks":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nsurplus",
		"no body": "HTTP/1.1 204 OK\r\n\r\nsurplus",
	} {
		t.Run(name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool { return write(c, answer) })
			b := newBackend(t, Config{Transport: NetHTTP, URL: addr})
			s := open(t, b)
			for i := range 3 {
				x := exchange(t.Context(), t, b, s, `{}`)
				if r := &x.Request; r.Code >= 300 || r.Reused {
					t.Errorf("exchange %d: %d, %v, Reused = %v", i, r.Code, r.Status, r.Reused)
				}
			}
		})
	}
	if printed.Len() > 0 {
		t.Errorf("printed: %s", printed.String())
	}
}

// A stream costs few allocations, however long it is.
func TestNetHTTPAllocations(t *testing.T) {
	const events = 1000
	answer := streamHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk(event("token")), events-1) + chunk(done) + "0\r\n\r\n"
	addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
		_, err := io.WriteString(c, answer)
		return err == nil
	})
	b := newBackend(t, Config{Transport: NetHTTP, URL: addr})
	s := open(t, b)
	p := prepare(t, b, `{}`)
	perRun := testing.AllocsPerRun(20, func() {
		x := &backend.Exchange{}
		x.Pack()
		s.Send(t.Context(), p, x)
		if n := len(x.Request.Responses); n != events {
			t.Fatalf("%d events: %s", n, x.Request.Message)
		}
		x.Release()
	})
	if perEvent := perRun / events; perEvent > 0.2 { // the server's are in it
		t.Errorf("%.2f allocations an event", perEvent)
	}
}

// The connection is kept, closed after each answer, or there before the first
// request, as asked for; the request does not tell.
func TestReuse(t *testing.T) { onEach(t, testReuse) }

func testReuse(t *testing.T, tr Transport) {
	for _, tt := range []struct {
		reuse  backend.Reuse
		conns  int
		reused []bool
	}{
		{backend.Keep, 1, []bool{false, true, true}},
		{backend.Fresh, 3, []bool{false, false, false}},
		{backend.Prewarm, 1, []bool{false, true, true}},
	} {
		t.Run(tt.reuse.String(), func(t *testing.T) {
			var mu sync.Mutex
			conns := map[string]bool{}
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				conns[r.RemoteAddr] = true
				mu.Unlock()
				if r.Close || r.Header.Get("Connection") != "" {
					t.Errorf("the request announces a close: %v", r.Header)
				}
				fmt.Fprint(w, `{}`)
			})
			b := newBackend(t, Config{Transport: tr, URL: srv.URL, Reuse: tt.reuse})
			s := open(t, b)
			if warm := s.(connector).connected(); warm != (tt.reuse == backend.Prewarm) {
				t.Errorf("connected before the first request: %v", warm)
			}
			for i, want := range tt.reused {
				r := &exchange(t.Context(), t, b, s, `{}`).Request
				if r.Status != export.StatusOK || r.Reused != want || (r.Connect > 0) == want {
					t.Errorf("exchange %d: %v, Reused = %v, Connect = %v", i, r.Status, r.Reused, r.Connect)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if len(conns) != tt.conns {
				t.Errorf("%d connections, want %d", len(conns), tt.conns)
			}
		})
	}
}

// A connection opened before the load that the server has closed since is not a
// failure of the first request.
func TestPrewarmStale(t *testing.T) { onEach(t, testPrewarmStale) }

func testPrewarmStale(t *testing.T, tr Transport) {
	l := nettest.Listen(t)
	defer l.Close()
	closed := make(chan bool)
	go func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if i > 0 {
				buf := make([]byte, 4096)
				_, _ = c.Read(buf)
				write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
			c.Close()
			if i == 0 {
				close(closed)
			}
		}
	}()
	b := newBackend(t, Config{Transport: tr, URL: l.Addr().String(), Reuse: backend.Prewarm})
	s := open(t, b)
	<-closed
	if r := &exchange(t.Context(), t, b, s, `{}`).Request; r.Status != export.StatusOK || r.Reused || r.Conn != 2 {
		t.Errorf("%v (%s), Reused = %v on connection %d", r.Status, r.Message, r.Reused, r.Conn)
	}
}

// Nobody there is an error of Open, when it is to connect.
func TestPrewarmRefused(t *testing.T) { onEach(t, testPrewarmRefused) }

func testPrewarmRefused(t *testing.T, tr Transport) {
	l := nettest.Listen(t)
	addr := l.Addr().String()
	l.Close()
	b := newBackend(t, Config{Transport: tr, URL: "http://u:pw-secret@" + addr, Reuse: backend.Prewarm})
	want := "http://" + addr + "/v1/chat/completions: connection refused; is the server running, and is -u right?"
	if _, err := b.Open(t.Context(), 0, rxclock.New()); err == nil || err.Error() != want {
		t.Errorf("Open = %v, want %s", err, want)
	}
}
