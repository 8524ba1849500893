package openai

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// BenchmarkNetHTTPEvent and BenchmarkLoopEvent receive streams of 1000 events, as
// fast as a server in the same process writes them.
func BenchmarkNetHTTPEvent(b *testing.B) { benchmarkEvents(b, NetHTTP) }

func benchmarkEvents(b *testing.B, tr Transport) {
	const events = 1000
	content := strings.Repeat(chunk(event("token")), events-1) + chunk(done) + "0\r\n\r\n"
	answer := []byte(streamHead + "Transfer-Encoding: chunked\r\n\r\n" + content)
	for name, piece := range map[string]int{"one write": len(answer), "a write an event": len(chunk(event("token")))} {
		b.Run(name, func(b *testing.B) {
			addr := serveRaw(b, func(c net.Conn, _ int, _ []byte) bool {
				for rest := answer; len(rest) > 0; {
					n := min(piece, len(rest))
					if _, err := c.Write(rest[:n]); err != nil {
						return false
					}
					rest = rest[n:]
				}
				return true
			})
			be := newBackend(b, Config{Transport: tr, URL: addr})
			s := open(b, be)
			p := prepare(b, be, `{"messages":[]}`)
			b.SetBytes(int64(len(answer)))
			before := mallocs()
			for b.Loop() {
				x := &backend.Exchange{}
				x.Pack()
				s.Send(b.Context(), p, x)
				if n := len(x.Request.Responses); x.Request.Status != export.StatusOK || n != events {
					b.Fatalf("%v, %q, %d events", x.Request.Status, x.Request.Message, n)
				}
				x.Release()
			}
			b.ReportMetric(float64(mallocs()-before)/float64(b.N*events), "allocs/event")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// mallocs is how many allocations there were.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func BenchmarkDecode(b *testing.B) {
	x := &backend.Exchange{}
	for i := range 100 {
		x.Raw = append(x.Raw, []byte(event(fmt.Sprint("token ", i))))
	}
	x.Raw = append(x.Raw, []byte(done))
	be := newBackend(b, Config{URL: "localhost:8000"})
	b.ReportAllocs()
	for b.Loop() {
		x.Request = export.Request{Status: export.StatusOK, Responses: make([]export.Response, len(x.Raw))}
		if err := be.Decode(x); err != nil || x.Request.Status != export.StatusOK {
			b.Fatal(err, x.Request.Message)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x.Raw)), "ns/event")
}
