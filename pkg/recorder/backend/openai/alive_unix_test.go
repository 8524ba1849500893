//go:build linux || darwin

package openai

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/nettest"
)

func TestAlive(t *testing.T) {
	l := nettest.Listen(t)
	defer l.Close()
	for _, tt := range []struct {
		name          string
		do            func(server net.Conn) error
		plain, secure bool
	}{
		{"idle", nil, true, true},
		{"closed", net.Conn.Close, false, false},
		{"said something", func(c net.Conn) error { _, err := c.Write([]byte("x")); return err }, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			if tt.do != nil {
				if err := tt.do(server); err != nil {
					t.Fatal(err)
				}
				waitReadable(t, client)
			}
			if got := alive(client, false); got != tt.plain {
				t.Errorf("alive = %v, want %v", got, tt.plain)
			}
			if got := alive(client, true); got != tt.secure {
				t.Errorf("alive with TLS = %v, want %v", got, tt.secure)
			}
		})
	}
}

// waitReadable returns when a byte or the end of the stream has come.
func waitReadable(t *testing.T, c net.Conn) {
	t.Helper()
	rc, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if err := rc.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return !errors.Is(err, syscall.EAGAIN)
	}); err != nil {
		t.Fatal(err)
	}
}
