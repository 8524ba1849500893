package nettest

import (
	"net"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// KernelStamps reports whether the kernel stamps bytes received and sent on loopback. In CI on
// Linux it fails the test if not, because the stamps would go untested.
func KernelStamps(t testing.TB) bool {
	t.Helper()
	l := Listen(t)
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

// RunStamped runs the tests of a package with the kernel's stamps on throughout, as they are in a run once Check was
// called: a few stamps of the process among them need not be in order. It fails if goroutines are left.
func RunStamped(m *testing.M) {
	testenv.MoreParallel()
	release := sockstamp.Hold()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		release()
		os.Exit(code)
	}))
}
