package kserve

import (
	"net"
	"net/http/httptrace"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A second connection for one request means that it was sent again.
func TestHTTPTraceResent(t *testing.T) {
	nc, peer := net.Pipe()
	defer nc.Close()
	defer peer.Close()
	for conns, want := range []bool{false, false, true} {
		trace := &httpTrace{clock: rxclock.New()}
		hooks := httptrace.ContextClientTrace(trace.watch(t.Context()))
		for range conns {
			hooks.GotConn(httptrace.GotConnInfo{Conn: nc})
		}
		var r export.Request
		if trace.fill(&r); r.Resent != want {
			t.Errorf("%d connections: Resent = %v", conns, r.Resent)
		}
	}
}
