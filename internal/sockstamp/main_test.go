package sockstamp

import (
	"context"
	"net"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestMain(m *testing.M) {
	if every := os.Getenv(senderEnv); every != "" {
		os.Exit(sendStamps(every))
	}
	goleak.VerifyTestMain(m)
}

// pair returns both ends of a TCP connection on loopback, the first a Conn.
func pair(t testing.TB, o Options) (c *Conn, peer *net.TCPConn) {
	t.Helper()
	d := Dialer{Options: o}
	nc, peer := tcpPair(t, d.DialContext)
	c, ok := Of(nc)
	if !ok {
		t.Fatalf("DialContext returned a %T", nc)
	}
	return c, peer
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

func tcpPair(t testing.TB, dial dialFunc) (nc net.Conn, peer *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err = dial(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); s.Close() })
	return nc, s.(*net.TCPConn)
}

// options are the ways to stamp; tests of what does not depend on who stamps
// run with each.
var options = map[string]Options{
	"kernel":          {},
	"kernel, receive": {NoTransmit: true},
	"user":            {User: true},
}

// needKernel ends a test of the kernel's stamps where it takes none, see
// [testenv.Lacks]: these tests are the proof of what the package is for.
func needKernel(t testing.TB, c *Conn) {
	t.Helper()
	if rx, tx, why := c.Stamps(); !rx || !tx {
		if runtime.GOOS != "linux" {
			t.Skipf("only Linux stamps sockets: %s", why)
		}
		testenv.Lacks(t, "stamps of the kernel: receive %v, transmit %v: %s", rx, tx, why)
	}
}
