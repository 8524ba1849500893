package sockstamp

import (
	"errors"
	"io"
	"net"
	"testing"
)

// An accountant is a Conn or a Socket.
type accountant interface {
	Write(p []byte) (int, error)
	Written() uint64
	Acknowledged() (bytes uint64, ok bool)
}

// Bytes that the other side took are acknowledged when it closes. Bytes written to a closed
// connection never are.
func TestAcknowledged(t *testing.T) {
	run := func(t *testing.T, c accountant, peer *net.TCPConn, ended func()) {
		t.Helper()
		want := func(what string, want uint64) {
			t.Helper()
			if n, ok := c.Acknowledged(); n != want || !ok {
				t.Errorf("%s: Acknowledged = %d, %v, want %d", what, n, ok, want)
			}
		}
		want("at first", 0)
		if _, err := c.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(peer, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if err := peer.Close(); err != nil {
			t.Fatal(err)
		}
		ended()
		want("read and closed", c.Written())
		if _, err := c.Write(make([]byte, 10)); err != nil { // the reset comes after it
			t.Fatal(err)
		}
		if c.Written() != 1010 {
			t.Errorf("Written = %d", c.Written())
		}
		want("written to a closed connection", 1000)
	}
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t, o)
			run(t, c, peer, func() {
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			})
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if n, ok := c.Acknowledged(); n != 1000 || !ok {
				t.Errorf("after Close: Acknowledged = %d, %v, want 1000", n, ok)
			}
		})
		t.Run("Socket, "+name, func(t *testing.T) {
			s, peer := socketPair(t, o)
			run(t, s, peer, func() { arrives(t, s) })
		})
	}
}

// A connection that is no socket has nobody to ask.
func TestAcknowledgedUnknown(t *testing.T) {
	nc, peer := net.Pipe()
	defer peer.Close()
	c, err := Wrap(nc)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, ok := c.Acknowledged(); n != 0 || ok {
		t.Errorf("Acknowledged = %d, %v, want nothing", n, ok)
	}
}
