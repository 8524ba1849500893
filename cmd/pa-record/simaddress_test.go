package main

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	"github.com/pa-tools/pa/internal/test/nettest"
)

// An address of the simulated server that is in use is named, with the flags that take
// another one.
func TestSimAddressInUse(t *testing.T) {
	l := nettest.Listen(t)
	defer l.Close()
	code, _, stderr := inProcess(t.Context(), t, append(append([]string{"sim"}, simserver.Addresses()...), "--openai-addr", l.Addr().String())...)
	if code != 1 || !strings.Contains(stderr, l.Addr().String()) || !strings.Contains(stderr, "; --openai-addr, --triton-grpc-addr") || !strings.Contains(stderr, " and --"+simserver.APIs[len(simserver.APIs)-1].Flag+" take another address, or off\n") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
