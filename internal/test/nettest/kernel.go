package nettest

import (
	"net"
	"os"
	"runtime"
	"testing"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// KernelStamps reports whether the kernel stamps bytes received and sent on loopback. In CI on
// Linux it fails the test if not, because the stamps would go untested.
func KernelStamps(t testing.TB) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c, err := sockstamp.Wrap(nc)
	if err != nil {
		t.Fatal(err)
	}
	receive, transmit, why := c.Stamps()
	if (!receive || !transmit) && runtime.GOOS == "linux" && os.Getenv("CI") != "" {
		t.Fatalf("no stamps of the kernel: receive %v, transmit %v: %s", receive, transmit, why)
	}
	return receive && transmit
}

// NeedKernelStamps ends a test that proves nothing without the kernel's stamps: it is
// skipped, and in CI on Linux it fails.
func NeedKernelStamps(t testing.TB) {
	t.Helper()
	if !KernelStamps(t) {
		t.Skip("no stamps of the kernel")
	}
}
