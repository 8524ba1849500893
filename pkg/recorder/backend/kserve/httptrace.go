package kserve

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// An httpTrace collects the times of one HTTP exchange. Its hooks run in several
// goroutines, and a dialing goroutine may outlive a cancelled request, so there is a lock.
// If the connection turns out to be closed before an answer, the library may try again on
// a new one; then the later stamps count, and the request is marked.
type httpTrace struct {
	clock *rxclock.Clock

	mu                            sync.Mutex
	conn                          *sockstamp.Conn // carries the exchange
	start, sent, first            uint64          // ns
	number                        int             // of conn
	resent                        bool
	dnsFrom, connectFrom, tlsFrom time.Time
	dns, connect, tls             time.Duration
}

// watch returns a context whose HTTP exchange calls the hooks of t.
func (t *httpTrace) watch(ctx context.Context) context.Context {
	set := func(f func()) {
		t.mu.Lock()
		f()
		t.mu.Unlock()
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { set(func() { t.dnsFrom = time.Now() }) },
		DNSDone:  func(httptrace.DNSDoneInfo) { set(func() { t.dns = time.Since(t.dnsFrom) }) },
		ConnectStart: func(string, string) {
			set(func() {
				if t.connectFrom.IsZero() { // the first of several addresses
					t.connectFrom = time.Now()
				}
			})
		},
		ConnectDone:       func(string, string, error) { set(func() { t.connect = time.Since(t.connectFrom) }) },
		TLSHandshakeStart: func() { set(func() { t.tlsFrom = time.Now() }) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { set(func() { t.tls = time.Since(t.tlsFrom) }) },
		GotConn: func(i httptrace.GotConnInfo) {
			now := t.clock.NowNS()
			conn, ok := sockstamp.Of(i.Conn)
			if ok {
				conn.Begin()
			}
			set(func() {
				t.resent = t.start != 0
				t.start, t.number, t.sent, t.conn = now, connNumber(i.Conn), 0, conn
			})
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			now := t.clock.NowNS()
			set(func() { t.sent = now })
		},
		GotFirstResponseByte: func() {
			now := t.clock.NowNS()
			set(func() { t.first = now })
		},
	})
}

// fill copies the times into r. An answer may come before the report that the request is
// written; the request then counts as sent when the answer began.
func (t *httpTrace) fill(r *export.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.StartNS, r.SentNS, r.FirstByteNS = t.start, t.sent, t.first
	if t.sent == 0 {
		r.SentNS = t.first
	}
	r.DNS, r.Connect, r.TLS, r.Conn, r.Resent = t.dns, t.connect, t.tls, t.number, t.resent
	if t.conn == nil {
		return
	}
	if start, sent := t.conn.Request(); start.NS != 0 {
		r.StartNS, r.StartSource = t.clock.FromWall(start.NS), export.StampSource(start.Source)
		r.SentNS = max(r.StartNS, t.clock.FromWall(sent.NS))
	}
}

// received returns a response with the time of the last read, which brought the end of the
// body. waited reports that the end may have waited for a missing segment.
func (t *httpTrace) received() (p export.Response, waited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		if st := t.conn.LastRead(); st.NS != 0 {
			st = t.conn.Settled(st)
			return export.Response{RecvNS: t.clock.FromWall(st.NS), Source: export.StampSource(st.Source)}, st.Waited
		}
	}
	return export.Response{RecvNS: t.clock.NowNS(), Source: export.SourceUser}, false
}
