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
func TestSendAfterTimeout(t *testing.T) {
	addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		if n == 0 {
			_, _ = io.Copy(io.Discard, c)
			return false
		}
		return write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	b := newBackend(t, Config{URL: addr})
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

// A kept connection that the server closed meanwhile is no failure, whatever
// the way it closed it.
func TestSendStale(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	for name, answer := range map[string]func(c net.Conn, n int) bool{
		"closed after the answer":  func(c net.Conn, n int) bool { return write(c, ok) && n != 0 },
		"closed after the request": func(c net.Conn, n int) bool { return n != 1 && write(c, ok) },
		"reset after the request":  func(c net.Conn, n int) bool { return n != 1 && write(c, ok) || c.(*net.TCPConn).SetLinger(0) != nil },
		"408 after the answer": func(c net.Conn, n int) bool {
			return write(c, ok) && (n != 0 || !write(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
		},
		"closed as it had announced": func(c net.Conn, n int) bool {
			return write(c, strings.Replace(ok, "\r\n", "\r\nConnection: close\r\n", 1)) && false
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool { return answer(c, n) })
			b := newBackend(t, Config{URL: addr})
			s := open(t, b)
			conns := map[int]bool{}
			for i := range 3 {
				x := exchange(t.Context(), t, b, s, `{}`)
				if r := &x.Request; r.Status != export.StatusOK {
					t.Errorf("exchange %d: %v, %q", i, r.Status, r.Message)
				}
				conns[x.Request.Conn] = true
			}
			if len(conns) < 2 {
				t.Errorf("connections used: %v, want more than one", conns)
			}
		})
	}
}

// A server that dies for good is a failure, tried twice at most.
func TestSendStaleTwice(t *testing.T) {
	var requests atomic.Int32
	addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		requests.Add(1)
		return n == 0 && write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	b := newBackend(t, Config{URL: addr})
	s := open(t, b)
	exchange(t.Context(), t, b, s, `{}`)
	x := exchange(t.Context(), t, b, s, `{}`)
	if r := &x.Request; r.Status != export.StatusTruncated || requests.Load() != 3 {
		t.Errorf("%v, %q after %d requests, want truncated after 3", r.Status, r.Message, requests.Load())
	}
}

// A server that keeps the body open after [DONE] has answered.
func TestSendOpenAfterDone(t *testing.T) {
	t.Parallel()
	addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
		write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(event("a")+done))
		_, _ = io.Copy(io.Discard, c)
		return false
	})
	b := newBackend(t, Config{URL: addr, RequestTimeout: time.Minute})
	s := open(t, b)
	for range 2 {
		x := exchange(t.Context(), t, b, s, `{}`)
		if r := &x.Request; r.Status != export.StatusOK || len(x.Raw) != 2 || r.Reused {
			t.Errorf("%v, %q, %d responses, Reused = %v", r.Status, r.Message, len(x.Raw), r.Reused)
		}
	}
}

// The end of the body may come a little after [DONE]; the connection is kept
// and later requests are not bound by the time that it was given.
func TestSendEndAfterDone(t *testing.T) {
	t.Parallel()
	addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		if n == 1 {
			time.Sleep(afterDone + 100*time.Millisecond) // a slow answer
		}
		return write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(event("a")+done)) && write(c, "0\r\n\r\n")
	})
	b := newBackend(t, Config{URL: addr})
	s := open(t, b)
	for i := range 2 {
		x := exchange(t.Context(), t, b, s, `{}`)
		if r := &x.Request; r.Status != export.StatusOK || r.Reused != (i == 1) {
			t.Errorf("exchange %d: %v, %q, Reused = %v", i, r.Status, r.Message, r.Reused)
		}
	}
}
