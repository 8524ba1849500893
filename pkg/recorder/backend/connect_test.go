package backend

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// The cause of an error has no addresses.
func TestCause(t *testing.T) {
	a, b := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("two\nlines"), "two lines"},
		{fmt.Errorf("transport: %w", &net.OpError{Op: "write", Net: "tcp", Source: a, Addr: b, Err: net.ErrClosed}), "use of closed network connection"},
		{&net.OpError{Op: "read", Net: "tcp", Source: a, Addr: b, Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "connection reset by peer"},
	} {
		if got := Cause(tt.err); got != tt.want {
			t.Errorf("Cause(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
