package openai

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
)

func TestSendConnectError(t *testing.T) { onEach(t, testSendConnectError) }

func testSendConnectError(t *testing.T, tr Transport) {
	l := nettest.Listen(t)
	addr := l.Addr().String()
	l.Close()
	b := newBackend(t, Config{Transport: tr, URL: "http://user:pw-secret@" + addr + "?key=secret"})
	x := exchange(t.Context(), t, b, open(t, b), `{}`)
	want := "http://" + addr + "/v1/chat/completions: connection refused; is the server running, and is -u right?"
	if r := &x.Request; r.Status != export.StatusConnectError || r.Message != want || r.StartNS != 0 {
		t.Errorf("%v, %q, start %d, want connect_error, %q, 0", r.Status, r.Message, r.StartNS, want)
	}
}

// The first bytes of a server that speaks before the request show which protocol it speaks instead
// of HTTP.
func TestSendServerSpeaksFirst(t *testing.T) { onEach(t, testSendServerSpeaksFirst) }

func testSendServerSpeaksFirst(t *testing.T, tr Transport) {
	for _, tt := range []struct{ name, greeting, msg string }{
		{"SSH", "SSH-2.0-OpenSSH\r\n", `the server does not speak HTTP: its answer begins with "SSH-2"; is -u right?`},
		{"HTTP/2", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", "the server speaks HTTP/2, so this is probably a gRPC port; give its HTTP port with -u"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := nettest.Listen(t)
			served := make(chan struct{})
			go func() {
				defer close(served)
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				write(c, tt.greeting)
				_, _ = io.Copy(io.Discard, c) // until the client has enough
			}()
			b := newBackend(t, Config{Transport: tr, URL: l.Addr().String()})
			s := open(t, b)
			r := &exchange(t.Context(), t, b, s, `{}`).Request
			if r.Status != export.StatusProtocolError || r.Message != tt.msg {
				t.Errorf("%v, %q, want %q", r.Status, r.Message, tt.msg)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			<-served
			l.Close()
		})
	}
}

// A server that never answers, or stops in the middle.
func TestSendContext(t *testing.T) { onEach(t, testSendContext) }

func testSendContext(t *testing.T, tr Transport) {
	t.Parallel()
	for _, partial := range []string{"", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event("a"))} {
		started := make(chan bool, 2)
		addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
			write(c, partial)
			started <- true
			_, _ = io.Copy(io.Discard, c) // until the client gives up
			return false
		})
		t.Run(fmt.Sprintf("deadline of the context after %d bytes", len(partial)), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			b := newBackend(t, Config{Transport: tr, URL: addr})
			x := exchange(ctx, t, b, open(t, b), `{}`)
			if r := &x.Request; r.Status != export.StatusTimeout || r.Message != "no complete answer in the time allowed" {
				t.Errorf("%v, %q", r.Status, r.Message)
			}
			<-started
		})
		t.Run(fmt.Sprintf("cancel after %d bytes", len(partial)), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			b := newBackend(t, Config{Transport: tr, URL: addr})
			x := exchange(ctx, t, b, open(t, b), `{}`)
			if r := &x.Request; r.Status != export.StatusCancelled || r.Message != "given up before the answer was complete" {
				t.Errorf("%v, %q", r.Status, r.Message)
			}
		})
	}
	t.Run("cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := newBackend(t, Config{Transport: tr, URL: "127.0.0.1:9"})
		if x := exchange(ctx, t, b, open(t, b), `{}`); x.Request.Status != export.StatusCancelled {
			t.Errorf("%v, %q", x.Request.Status, x.Request.Message)
		}
	})
}
