package sockstamp

import (
	"io"
	"net"
	"testing"
)

// After Hold the very first read of a connection has the kernel's stamp.
func TestHold(t *testing.T) {
	release := Hold()
	defer release()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "x")
		c.Close()
	}()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Wrap(nc)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if receive, _, why := c.Stamps(); receive && c.LastRead().Source != Kernel {
		t.Errorf("the first read has a stamp of %v (%s)", c.LastRead().Source, why)
	}
}
