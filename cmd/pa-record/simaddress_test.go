package main

import (
	"net"
	"strings"
	"testing"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
)

// An address of the simulated server that is in use is named, with the flags that take
// another one.
func TestSimAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, stderr := inProcess(t.Context(), t, append(append([]string{"sim"}, simserver.Addresses()...), "--openai-addr", l.Addr().String())...)
	if code != 1 || !strings.Contains(stderr, l.Addr().String()) || !strings.Contains(stderr, "; --openai-addr, --triton-grpc-addr") || !strings.Contains(stderr, " and --"+simserver.APIs[len(simserver.APIs)-1].Flag+" take another address, or off\n") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
