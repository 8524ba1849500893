package openai

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// After a request that was given up the sender goes on with a new connection.
func TestSendAfterTimeout(t *testing.T) { onEach(t, testSendAfterTimeout) }

func testSendAfterTimeout(t *testing.T, tr Transport) {
	addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		if n == 0 {
			_, _ = io.Copy(io.Discard, c)
			return false
		}
		return write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	b := newBackend(t, Config{Transport: tr, URL: addr})
	s := open(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if x := exchange(ctx, t, b, s, `{}`); x.Request.Status != export.StatusTimeout {
		t.Fatalf("first: %v", x.Request.Status)
	}
	if x := exchange(t.Context(), t, b, s, `{}`); x.Request.Status != export.StatusOK || x.Request.Reused {
		t.Errorf("second: %v (%s), Reused = %v", x.Request.Status, x.Request.Message, x.Request.Reused)
	}
}

const (
	emptyOK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	late408 = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)

// A kept connection that the server closed meanwhile is no failure, whatever
// the way it closed it.
func TestSendStale(t *testing.T) { onEach(t, testSendStale) }

func testSendStale(t *testing.T, tr Transport) {
	for name, first := range map[string]func(c net.Conn){
		"closed after the answer": func(c net.Conn) { write(c, emptyOK) },
		"reset after the answer": func(c net.Conn) {
			write(c, emptyOK)
			_ = c.(*net.TCPConn).SetLinger(0)
		},
		"408 after the answer": func(c net.Conn) { write(c, emptyOK); write(c, late408) },
		"closed as it had announced": func(c net.Conn) {
			write(c, strings.Replace(emptyOK, "\r\n", "\r\nConnection: close\r\n", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			answered, closed := make(chan bool), make(chan bool)
			addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
				if n > 0 {
					return write(c, emptyOK)
				}
				first(c)
				<-answered // a reset would overtake the answer
				c.Close()
				close(closed)
				return false
			})
			b := newBackend(t, Config{Transport: tr, URL: addr})
			s := open(t, b)
			conns := map[int]bool{}
			for i := range 3 {
				x := exchange(t.Context(), t, b, s, `{}`)
				if r := &x.Request; r.Status != export.StatusOK {
					t.Errorf("exchange %d: %v, %q", i, r.Status, r.Message)
				}
				conns[x.Request.Conn] = true
				if i == 0 {
					close(answered)
					<-closed // a request on its way before that may count as taken
				}
			}
			if len(conns) != 2 {
				t.Errorf("connections used: %v, want two", conns)
			}
		})
	}
}

// A request that the server took, worked on and left without an answer is a
// failure, also on a kept connection; it is not sent again.
func TestSendTaken(t *testing.T) { onEach(t, testSendTaken) }

func testSendTaken(t *testing.T, tr Transport) {
	const unanswered = "the connection was closed without an answer: "
	for name, tt := range map[string]struct {
		second func(c net.Conn) // what the server does with the second request
		status export.Status
		prefix string // of the message
	}{
		"closed": {func(net.Conn) {}, export.StatusTruncated, unanswered + "EOF"},
		"reset": {func(c net.Conn) {
			acknowledge(t, c)
			_ = c.(*net.TCPConn).SetLinger(0)
		}, export.StatusTruncated, unanswered},
		"408": {func(c net.Conn) { write(c, late408) }, export.StatusHTTPError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
				requests.Add(1)
				if n == 1 {
					tt.second(c)
					return false
				}
				return write(c, emptyOK)
			})
			b := newBackend(t, Config{Transport: tr, URL: addr})
			b.closingTime = 0 // however soon it ends, the server has worked on it
			s := open(t, b)
			exchange(t.Context(), t, b, s, `{}`)
			r := &exchange(t.Context(), t, b, s, `{}`).Request
			if r.Status != tt.status || !strings.HasPrefix(r.Message, tt.prefix) || !r.Reused || requests.Load() != 2 {
				t.Errorf("%v, %q, Reused = %v after %d requests, want %v, %q after 2", r.Status, r.Message, r.Reused, requests.Load(), tt.status, tt.prefix)
			}
			if r := &exchange(t.Context(), t, b, s, `{}`).Request; r.Status != export.StatusOK || r.Reused {
				t.Errorf("the next: %v, %q, Reused = %v", r.Status, r.Message, r.Reused)
			}
		})
	}
}

// A server that keeps the body open after [DONE] has answered.
func TestSendOpenAfterDone(t *testing.T) {
	t.Parallel()
	onEach(t, testSendOpenAfterDone)
}

func testSendOpenAfterDone(t *testing.T, tr Transport) {
	t.Parallel()
	addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
		write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(event("a")+done))
		_, _ = io.Copy(io.Discard, c)
		return false
	})
	b := newBackend(t, Config{Transport: tr, URL: addr})
	s := open(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		x := exchange(ctx, t, b, s, `{}`)
		if r := &x.Request; r.Status != export.StatusOK || len(x.Raw) != 2 || r.Reused {
			t.Errorf("%v, %q, %d responses, Reused = %v", r.Status, r.Message, len(x.Raw), r.Reused)
		}
	}
}

// The end of the body may come a little after [DONE]; the connection is kept
// and later requests are not bound by the time that it was given.
func TestSendEndAfterDone(t *testing.T) {
	t.Parallel()
	onEach(t, testSendEndAfterDone)
}

func testSendEndAfterDone(t *testing.T, tr Transport) {
	t.Parallel()
	addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		if n == 1 {
			time.Sleep(afterDone + 100*time.Millisecond) // a slow answer
		}
		return write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(event("a")+done)) && write(c, "0\r\n\r\n")
	})
	b := newBackend(t, Config{Transport: tr, URL: addr})
	s := open(t, b)
	for i := range 2 {
		x := exchange(t.Context(), t, b, s, `{}`)
		if r := &x.Request; r.Status != export.StatusOK || r.Reused != (i == 1) {
			t.Errorf("exchange %d: %v, %q, Reused = %v", i, r.Status, r.Message, r.Reused)
		}
	}
}
