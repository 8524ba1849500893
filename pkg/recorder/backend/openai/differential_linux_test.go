package openai

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A row is what two transports must agree on: all of a request but its times,
// and which read brought what.
type row struct {
	Status   export.Status
	Code     int
	Message  string
	ServerID string
	Reused   bool
	Conn     int
	Raw      []string
	Final    []bool
	Error    []bool
}

func rowOf(x *backend.Exchange) row {
	r := &x.Request
	w := row{Status: r.Status, Code: r.Code, Message: r.Message, ServerID: r.ServerID, Reused: r.Reused, Conn: r.Conn}
	for i, raw := range x.Raw {
		w.Raw = append(w.Raw, created.ReplaceAllString(string(raw), `"created":0`))
		w.Final, w.Error = append(w.Final, r.Responses[i].Final), append(w.Error, r.Responses[i].Error)
	}
	return w
}

// created is the simulator's time of an answer, in seconds.
var created = regexp.MustCompile(`"created":\d+`)

// rows sends n requests, one after the other, over each transport, and gives up each after
// limit. server returns the address of a server that is new and does the same each time.
func rows(t *testing.T, cfg Config, limit time.Duration, body string, n int, server func(t *testing.T) (url string)) map[Transport][]row {
	t.Helper()
	all := map[Transport][]row{}
	for _, tr := range []Transport{NetHTTP, Loop} {
		cfg.Transport, cfg.URL = tr, server(t)
		b := newBackend(t, cfg)
		b.closingTime = time.Hour // or a busy machine decides who sends again
		s := open(t, b)
		for range n {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			all[tr] = append(all[tr], rowOf(exchange(ctx, t, b, s, body)))
			cancel()
		}
	}
	return all
}

// Both transports make the same of every recorded answer of a real server,
// however the network chops it.
func TestTransportsAgreeOnRecordings(t *testing.T) {
	exchanges := 8 / testenv.Stride(2) // serveChopped has four lengths of pieces, in turn
	golden.Each(t, "openai_streams", "*.http", 40, func(name string, raw []byte) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rows(t, Config{Streaming: true}, time.Hour, `{}`, exchanges, func(t *testing.T) string { return serveChopped(t, raw) })
			if diff := cmp.Diff(got[NetHTTP], got[Loop]); diff != "" {
				t.Errorf("rows (-nethttp +loop):\n%s", diff)
			}
			for i, r := range got[Loop] {
				if len(r.Raw) == 0 || r.Code == 0 {
					t.Errorf("exchange %d: %d responses, code %d (%s)", i, len(r.Raw), r.Code, r.Message)
				}
			}
		})
	})
}

// serveChopped answers each request with raw, chopped at other places each time,
// which are the same for each server. Every other answer closes the connection,
// as does one that was cut when it was recorded.
func serveChopped(t *testing.T, raw []byte) (addr string) {
	whole := goldenOf(t, raw).whole
	return serveRaw(t, func(c net.Conn, n int, _ []byte) bool {
		rng := rand.New(rand.NewPCG(uint64(len(raw)), uint64(n)))
		most := []int{len(raw), 1500, 300, 60}[n%4]
		for rest := raw; len(rest) > 0; {
			k := min(len(rest), 1+rng.IntN(most))
			if !write(c, string(rest[:k])) {
				return false
			}
			rest = rest[k:]
			if rng.IntN(32) == 0 {
				time.Sleep(100 * time.Microsecond) // so that reads are chopped, too
			}
		}
		return whole && n%2 == 0
	})
}

// Both transports make the same of everything that a server can do wrong. Every
// other request suffers the fault, so that it also shows what is left of the
// connection.
func TestTransportsAgreeOnFaults(t *testing.T) {
	t.Parallel()
	const exchanges = 4
	for _, fault := range append(plan.Faults(), plan.FaultNone) {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, streaming %v", fault, streaming), func(t *testing.T) {
				t.Parallel()
				cfg := Config{Streaming: streaming, Model: sim.DefaultModel}
				limit := time.Minute
				if fault == plan.FaultHang || fault == plan.FaultStall {
					limit = 500 * time.Millisecond
				}
				body := `{"messages":[{"role":"user","content":"hi"}],"max_tokens":9}`
				got := rows(t, cfg, limit, body, exchanges, func(t *testing.T) string { return startSim(t, fault) })
				for i := range exchanges {
					nethttp, loop := got[NetHTTP][i], got[Loop][i]
					if fault == plan.FaultReset {
						whole := got[NetHTTP][0]
						if !streaming {
							whole = got[NetHTTP][i]
						}
						alignReset(t, whole, &nethttp)
						alignReset(t, whole, &loop)
					}
					if diff := cmp.Diff(nethttp, loop); diff != "" {
						t.Errorf("exchange %d (-nethttp +loop):\n%s", i, diff)
					}
				}
				if first := got[Loop][0]; first.Status != export.StatusOK {
					t.Errorf("an answer without a fault: %v, %q", first.Status, first.Message)
				}
			})
		}
	}
}

// alignReset takes out of a row what the moment of a reset decides: it may
// overtake what was sent before it.
func alignReset(t *testing.T, whole row, r *row) {
	t.Helper()
	if r.Status == export.StatusOK {
		return
	}
	if r.Status != export.StatusTruncated || !strings.HasSuffix(r.Message, "connection reset by peer") {
		t.Errorf("a reset: %v, %q", r.Status, r.Message)
	}
	if len(r.Raw) > len(whole.Raw) {
		t.Errorf("a reset: %d responses of %d", len(r.Raw), len(whole.Raw))
	}
	*r = row{Status: r.Status, Reused: r.Reused, Conn: r.Conn}
}

// startSim starts a simulated server without delays of which every other
// request suffers the fault.
func startSim(t *testing.T, fault plan.Fault) (url string) {
	t.Helper()
	cfg := sim.Config{
		TritonGRPCAddr: sim.Off, TritonHTTPAddr: sim.Off,
		TTFT: plan.ConstantDelay(time.Microsecond), ITL: plan.ConstantDelay(time.Microsecond),
	}
	if fault != plan.FaultNone {
		cfg.Faults = []plan.FaultRule{{Fault: fault, Every: 2}}
	}
	srv, err := sim.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("simulated server: %v", err)
		}
	})
	return srv.OpenAIURL()
}

// Both transports make the same of anything.
func FuzzTransports(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n"), uint64(1))
	f.Add([]byte("HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nabcdef"), uint64(2))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), uint64(3))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(event("a"))+chunk(done)), uint64(4))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+event("a")), uint64(5))
	f.Add([]byte("\x15\x03\x01"), uint64(6))
	f.Add([]byte("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"), uint64(7))
	f.Fuzz(func(t *testing.T, answer []byte, seed uint64) {
		got := map[Transport]row{}
		for _, tr := range []Transport{NetHTTP, Loop} {
			b, err := New(Config{URL: "localhost:1", MaxAnswerMemory: 1 << 16})
			if err != nil {
				t.Fatal(err)
			}
			var x *backend.Exchange
			if tr == Loop {
				x = feed(b, answer, rand.New(rand.NewPCG(seed, 0)))
			} else {
				x = overPipe(t, b, answer)
			}
			if err := b.Decode(x); err != nil {
				t.Fatalf("Decode: %v", err)
			}
			r := rowOf(x)
			r.Reused, r.Conn = false, 0
			got[tr] = r
		}
		if diff := cmp.Diff(got[NetHTTP], got[Loop]); diff != "" {
			t.Errorf("rows (-nethttp +loop):\n%s", diff)
		}
	})
}

// overPipe is an exchange over NetHTTP without a network.
func overPipe(t *testing.T, b *Backend, answer []byte) *backend.Exchange {
	client, server := net.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer server.Close()
		buf := make([]byte, 4096)
		if _, err := server.Read(buf); err == nil {
			_, _ = server.Write(answer)
		}
	}()
	s := senderOver(t, b, client)
	x := &backend.Exchange{}
	s.Send(t.Context(), b.newPayload("POST", "/", nil), x)
	_ = s.Close() // or the server waits
	<-written
	return x
}
