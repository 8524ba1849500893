package openai

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

func (s *loopSender) connected() bool                              { return s.conn != nil }
func (s *loopSender) stamps() (receive, transmit bool, why string) { return s.conn.Stamps() }

// feed plays the loop for an exchange: it hands the answer over in pieces, then
// its end.
func feed(b *Backend, answer []byte, rng *rand.Rand) *backend.Exchange {
	s := newLoopSender(b, nil, rxclock.New())
	x := &backend.Exchange{}
	s.answer.begin(x)
	s.begin("POST", false)
	now := uint64(time.Now().UnixNano())
	over := false
	for ordinal := uint64(1); len(answer) > 0 && !over; ordinal++ {
		p := append([]byte(nil), answer[:1+rng.IntN(min(len(answer), 50))]...)
		answer = answer[len(p):]
		over = s.Data(p, sockstamp.Stamp{NS: now + ordinal, Source: sockstamp.Kernel, Ordinal: ordinal})
		for i := range p {
			p[i] = '!' // it is not the handler's any more
		}
	}
	if !over {
		s.Closed(io.EOF)
	}
	<-s.over
	s.answer.end(s.err)
	s.timer.Stop()
	return x
}

// The meaning of a connection's end depends on what arrived before it.
func TestLoopClosed(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for _, tt := range []struct {
		name     string
		answer   string
		writeErr error
		end      error
		status   export.Status
		msg      string
	}{
		{"closed, nothing", "", nil, io.EOF, export.StatusTruncated, "the connection was closed without an answer: EOF"},
		{"reset, nothing", "", nil, syscall.ECONNRESET, export.StatusTruncated, "the connection was closed without an answer: connection reset by peer"},
		{"closed, not read", "", syscall.EPIPE, io.EOF, export.StatusTruncated, "the connection broke before the end of the answer: broken pipe"},
		{"reset, not read", "", syscall.EPIPE, syscall.ECONNRESET, export.StatusTruncated, "the connection broke before the end of the answer: broken pipe"},
		{"closed in the head", head, nil, io.EOF, export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF"},
		{"reset after an event", head + "\r\n" + event("a"), nil, syscall.ECONNRESET, export.StatusTruncated, "the connection broke before the end of the answer: connection reset by peer"},
		{"reset after [DONE]", head + "\r\n" + event("a") + done, nil, syscall.ECONNRESET, export.StatusOK, ""},
		{"closed after the end", head + "\r\n" + event("a") + finish, nil, io.EOF, export.StatusOK, ""},
		{"closed before the end", head + "Content-Length: 9999\r\n\r\n" + event("a") + finish, nil, io.EOF, export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF"},
		{"answered, not read", "HTTP/1.1 413 Too Large\r\n\r\nbig", syscall.EPIPE, syscall.ECONNRESET, export.StatusHTTPError, "big"},
		{"not in time", head + "\r\n" + event("a") + done, nil, nil, export.StatusOK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t, Config{URL: "h"})
			s := newLoopSender(b, nil, rxclock.New())
			x := &backend.Exchange{}
			s.answer.begin(x)
			s.begin("POST", false)
			if tt.answer != "" && s.Data([]byte(tt.answer), sockstamp.Stamp{NS: 1, Source: sockstamp.Kernel, Ordinal: 1}) {
				t.Fatal("over before the end")
			}
			if tt.writeErr != nil {
				s.WriteFailed(tt.writeErr)
			}
			if tt.end != nil {
				s.Closed(tt.end)
				<-s.over
			} else {
				if !s.limited {
					t.Error("no limit after [DONE]")
				}
				s.closed(syscall.ETIMEDOUT)
			}
			s.timer.Stop()
			s.answer.end(s.err)
			if err := b.Decode(x); err != nil {
				t.Fatal(err)
			}
			if r := &x.Request; r.Status != tt.status || r.Message != tt.msg {
				t.Errorf("%v, %q, want %v, %q", r.Status, r.Message, tt.status, tt.msg)
			}
			if s.usable() {
				t.Error("the connection is to be used again")
			}
		})
	}
}

// Receiving an event allocates nothing; its memory is used again.
func TestLoopAllocations(t *testing.T) {
	const events = 1000
	b := newBackend(t, Config{URL: "h"})
	s := newLoopSender(b, nil, rxclock.New())
	frame := []byte(chunk(event("token")))
	head := []byte(streamHead + "Transfer-Encoding: chunked\r\n\r\n")
	end := []byte("0\r\n\r\n")
	n := testing.AllocsPerRun(10, func() {
		x := &backend.Exchange{}
		x.Pack()
		s.answer.begin(x)
		s.begin("POST", false)
		at := sockstamp.Stamp{NS: uint64(time.Now().UnixNano()), Source: sockstamp.Kernel}
		s.Data(head, at)
		for range events {
			s.Data(frame, at)
		}
		if !s.Data(end, at) || len(x.Request.Responses) != events {
			t.Fatalf("%d events, %v", len(x.Request.Responses), s.err)
		}
		<-s.over
		s.answer.end(s.err)
		x.Release()
	})
	if n/events > 0.05 {
		t.Errorf("%v allocations for %d events", n, events)
	}
}

func BenchmarkLoopEvent(b *testing.B) { benchmarkEvents(b, Loop) }

// BenchmarkPacedEvent receives 64 streams at a time of 200 events a second each.
// cpu-ns/event is the CPU time of the process, which is also the server: half of
// it is the server's, or more.
func BenchmarkPacedEvent(b *testing.B) {
	const streams, events, every = 64, 200, 5 * time.Millisecond
	head := streamHead + "Transfer-Encoding: chunked\r\n\r\n"
	token, end := []byte(chunk(event("token"))), []byte(chunk(done)+"0\r\n\r\n")
	for _, tr := range []Transport{NetHTTP, Loop} {
		b.Run(tr.String(), func(b *testing.B) {
			addr := serveRaw(b, func(c net.Conn, n int, _ []byte) bool {
				ok := write(c, head)
				next := time.Now().Add(every * time.Duration(n%streams) / streams)
				for range events - 1 {
					next = next.Add(every)
					time.Sleep(time.Until(next))
					if _, err := c.Write(token); err != nil {
						return false
					}
				}
				_, err := c.Write(end)
				return ok && err == nil
			})
			be := newBackend(b, Config{Transport: tr, URL: addr})
			p := prepare(b, be, `{"messages":[]}`)
			senders := make([]backend.Sender, streams)
			for i := range senders {
				senders[i] = open(b, be)
			}
			round := func() {
				var wg sync.WaitGroup
				for _, s := range senders {
					wg.Go(func() {
						x := &backend.Exchange{}
						x.Pack()
						s.Send(b.Context(), p, x)
						if n := len(x.Request.Responses); x.Request.Status != export.StatusOK || n != events {
							b.Errorf("%v, %q, %d events", x.Request.Status, x.Request.Message, n)
						}
						x.Release()
					})
				}
				wg.Wait()
			}
			round() // connects
			allocated, cpu := mallocs(), testenv.CPUTime()
			for b.Loop() {
				round()
			}
			n := float64(b.N * streams * events)
			b.ReportMetric(float64(mallocs()-allocated)/n, "allocs/event")
			b.ReportMetric(float64(testenv.CPUTime()-cpu)/n, "cpu-ns/event")
		})
	}
}
