package kserve

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Slots that share connections have the kernel's times of their own messages:
// none is of before the server sent it, and no request of after the server had
// it.
func TestSharedConnections(t *testing.T) {
	defer sockstamp.Hold()()
	const slots, connections, requests, tokens = 8, 2, 20, 5
	now := func() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }
	answer := func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		received := now()
		if req.Model == "adder" {
			send(text(req.ID, req.ID+" "+received+" "+now()))
			return nil
		}
		for range tokens {
			send(text(req.ID, req.ID+" "+received+" "+now(), notFinal))
		}
		send(text(req.ID, req.ID+" "+received+" "+now(), final))
		return nil
	}
	plain, secure := startFake(t, answer), startFakeTLS(t, answer)
	want := export.SourceUser
	if nettest.KernelStamps(t) {
		want = export.SourceKernel
	}
	for _, tt := range []struct {
		name  string
		f     *fakeTriton
		model fakeModel
		n     int // responses
	}{
		{"streams", plain, llm, tokens + 1},
		{"streams over TLS", secure, llm, tokens + 1},
		{"unary", plain, adder, 1},
		{"unary over TLS", secure, adder, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.f.open(t, Config{Protocol: GRPC, Model: tt.model.name, Streaming: tt.model.decoupled, Connections: connections, Reuse: backend.Prewarm})
			b.outputs = []string{"text_output"}
			p := prepare(t, b, validEntry(tt.model))
			exchanges := make(chan *backend.Exchange, slots*requests)
			var wg sync.WaitGroup
			for slot := range slots {
				s := openSlot(t, b, slot)
				wg.Go(func() {
					for i := range requests {
						x := &backend.Exchange{Request: export.Request{ID: uint64(slot*requests + i + 1)}}
						s.Send(t.Context(), p, x)
						exchanges <- x
					}
				})
			}
			wg.Wait()
			close(exchanges)
			conns := map[int]int{}
			for x := range exchanges {
				if err := b.Decode(x); err != nil {
					t.Fatal(err)
				}
				r := &x.Request
				if r.Status != export.StatusOK || len(r.Responses) != tt.n || r.StartSource != want {
					t.Fatalf("request %d: %v %s, %d responses, start by %v; want %d, %v", r.ID, r.Status, r.Message, len(r.Responses), r.StartSource, tt.n, want)
				}
				conns[r.Conn]++
				for i, resp := range r.Responses {
					var id, received, sent uint64
					if _, err := fmt.Sscan(string(resp.Outputs[0].Value.Data), &id, &received, &sent); err != nil {
						t.Fatal(err)
					}
					if id != r.ID || resp.Source != want || resp.RecvNS < sent || r.StartNS > received {
						t.Errorf("request %d, response %d of request %d by %v: start %d, received by the server %d, sent by it %d, here %d",
							r.ID, i, id, resp.Source, r.StartNS, received, sent, resp.RecvNS)
					}
				}
			}
			if len(conns) != connections {
				t.Errorf("requests on connections %v, want %d", conns, connections)
			}
		})
	}
	for i, md := range plain.metadata() {
		if n, err := strconv.Atoi(strings.Join(md.Get(slotHeader), ",")); err != nil || n < 0 || n >= slots {
			t.Fatalf("request %d: metadata %v, want one %s", i, md, slotHeader)
		}
	}
}

// A server that limits the age of its connections costs no request, because a request
// after GOAWAY goes to a new connection.
func TestMaxConnectionAge(t *testing.T) {
	const age = 60 * time.Millisecond
	f := &fakeTriton{models: []fakeModel{llm}, answer: func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "a", final))
		return nil
	}}
	f.grpcAddr = serveOn(t, grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: age, MaxConnectionAgeGrace: age})), f)
	b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true})
	s := openSlot(t, b, 0)
	p := prepare(t, b, validEntry(llm))
	conns := map[int]bool{}
	for id, begin := uint64(1), time.Now(); time.Since(begin) < 5*age; id++ {
		x := exchange(t.Context(), t, b, s, p, id)
		if x.Request.Status != export.StatusOK {
			t.Errorf("request %d after %v: %s", id, time.Since(begin), show(x))
		}
		conns[x.Request.Conn] = true
		time.Sleep(3 * time.Millisecond)
	}
	if len(conns) < 3 {
		t.Errorf("%d connections, want one for each %v", len(conns), age)
	}
}

// Calls on connections of their own bear no slot's name, and nothing asks for
// compressed answers.
func TestMetadata(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	})
	for _, c := range []Config{{Protocol: GRPC, Model: "llm", Streaming: true}, {Protocol: GRPC, Model: "adder"}} {
		b := f.open(t, c)
		exchange(t.Context(), t, b, openSlot(t, b, 0), prepare(t, b, validEntry(map[string]fakeModel{"llm": llm, "adder": adder}[c.Model])), 1)
	}
	want := []string{":authority", "content-type", "user-agent"}
	meta := f.metadata()
	for _, md := range meta {
		for name := range md {
			if !strings.Contains(strings.Join(want, " "), name) {
				t.Errorf("metadata %s: %q", name, md[name])
			}
		}
	}
	if len(meta) != 2 {
		t.Errorf("%d calls, want 2", len(meta))
	}
}

// Config.Reuse shows in the requests: which of them opened a connection, and which connection they
// used.
func TestReuse(t *testing.T) {
	answer := func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	}
	plain, secure := startFake(t, answer), startFakeTLS(t, answer)
	for _, c := range []Config{
		{Protocol: GRPC, Model: "llm", Streaming: true},
		{Protocol: GRPC, Model: "adder"},
		{Protocol: HTTP, Model: "adder"},
	} {
		for _, tt := range []struct {
			reuse backend.Reuse
			want  string // of three requests: connection; n(ew) or r(eused); p(aid for it) or not
		}{
			{backend.Keep, "0np 0r 0r"},
			{backend.Fresh, "0np 1np 2np"},
			{backend.Prewarm, "0np 0r 0r"}, // paid before
		} {
			for name, f := range map[string]*fakeTriton{"plain": plain, "TLS": secure} {
				t.Run(fmt.Sprintf("%v, streaming %v, %v, %s", c.Protocol, c.Streaming, tt.reuse, name), func(t *testing.T) {
					c := c
					c.Reuse = tt.reuse
					b := f.open(t, c)
					m := llm
					if c.Model == "adder" {
						m = adder
					}
					p := prepare(t, b, validEntry(m))
					before := b.made.Load()
					s := openSlot(t, b, 3)
					if made := b.made.Load() - before; made != map[backend.Reuse]int64{backend.Prewarm: 1}[tt.reuse] {
						t.Errorf("%d connections made by Open", made)
					}
					base := math.MaxInt
					var got []string
					for id := range uint64(3) {
						x := &backend.Exchange{Request: export.Request{ID: id + 1}}
						s.Send(t.Context(), p, x)
						r := &x.Request
						if r.Status != export.StatusOK {
							t.Fatalf("request %d: %v %s", r.ID, r.Status, r.Message)
						}
						base = min(base, r.Conn)
						text := strconv.Itoa(r.Conn - base)
						text += map[bool]string{true: "r", false: "n"}[r.Reused]
						if r.Connect > 0 {
							text += "p"
						}
						if paid := r.Connect > 0 && f == secure; paid != (r.TLS > 0) {
							t.Errorf("request %d: connect %v, TLS %v", r.ID, r.Connect, r.TLS)
						}
						got = append(got, text)
					}
					if got := strings.Join(got, " "); got != tt.want {
						t.Errorf("got %s, want %s", got, tt.want)
					}
				})
			}
		}
	}
}

// A request that opens its connection pays for the name's lookup too.
func TestLookupIsAPhase(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	})
	f.grpcAddr = strings.Replace(f.grpcAddr, "127.0.0.1", "localhost", 1)
	f.httpAddr = strings.Replace(f.httpAddr, "127.0.0.1", "localhost", 1)
	for _, p := range []Protocol{GRPC, HTTP} {
		b := f.open(t, Config{Protocol: p, Model: "adder"})
		s, x := openSlot(t, b, 0), &backend.Exchange{Request: export.Request{ID: 1}}
		s.Send(t.Context(), prepare(t, b, validEntry(adder)), x)
		if r := &x.Request; r.Status != export.StatusOK || r.DNS <= 0 || r.Connect <= 0 {
			t.Errorf("%v: %v %s, lookup %v, connect %v", p, r.Status, r.Message, r.DNS, r.Connect)
		}
	}
}
