package openai

import (
	"context"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// acknowledge makes the kernel acknowledge at once what was received.
func acknowledge(t *testing.T, c net.Conn) {
	rc, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	if err := rc.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Error(err)
	}
}

// A request on a connection that the server closes after it was found to be
// usable, but before the request was there, is to be sent again.
func TestAttemptStale(t *testing.T) { onEach(t, testAttemptStale) }

func testAttemptStale(t *testing.T, tr Transport) {
	for name, say := range map[string]string{"closed": "", "408": late408} {
		t.Run(name, func(t *testing.T) {
			found, closed := make(chan bool), make(chan bool)
			addr := serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
				if !write(c, emptyOK) || n > 0 {
					return true
				}
				<-found
				write(c, say)
				c.Close()
				close(closed)
				return false
			})
			b := newBackend(t, Config{Transport: tr, URL: addr})
			s := open(t, b)
			exchange(t.Context(), t, b, s, `{}`)

			prepared, err := b.Prepare(entry(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			p := prepared.(*payload)
			var x backend.Exchange
			var attemptOn func() (stale bool)
			var again attempter
			switch s := s.(type) {
			case *sender:
				s.answer.begin(&x)
				attemptOn = onFound(t, s.connect, s.attemptOn, p, &x.Request, found, closed)
				again = s
			case *loopSender:
				s.answer.begin(&x)
				attemptOn = onFound(t, s.connect, s.attemptOn, p, &x.Request, found, closed)
				again = s
			}
			if !attemptOn() {
				t.Fatalf("not stale: %v, %q", x.Request.Status, x.Request.Message)
			}
			if stale, err := again.attempt(t.Context(), p, &x.Request); err != nil || stale || x.Request.Status != export.StatusOK || x.Request.Code != 200 || x.Request.Reused {
				t.Errorf("sent again: %v, %v, %v, %q, Reused = %v", stale, err, x.Request.Status, x.Request.Message, x.Request.Reused)
			}
		})
	}
}

// onFound returns an attempt on the connection that a sender has, which the
// server closes in between.
func onFound[C any](t *testing.T, connect func(context.Context) (C, error),
	attemptOn func(context.Context, C, *payload, *export.Request) bool,
	p *payload, r *export.Request, found, closed chan bool,
) func() bool {
	return func() bool {
		c, err := connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		close(found)
		<-closed
		return attemptOn(t.Context(), c, p, r)
	}
}
