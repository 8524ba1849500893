package kserve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Each row is what the server sends to a request of id 7 on a stream, and the
// exchange that comes of it. Every row is followed by a second request, which
// must go well.
func TestStream(t *testing.T) {
	for _, tt := range []struct {
		name    string
		model   fakeModel
		send    []wire.Response
		err     error // ends the stream
		want    string
		reopens bool
	}{
		{
			name: "empty final response", model: llm,
			send: []wire.Response{text("7", "a", notFinal), text("7", "b", notFinal), {ID: "7", Params: []wire.Param{final}}},
			want: "ok [a] [b] [F]",
		},
		{
			name: "the last text is final", model: llm,
			send: []wire.Response{text("7", "a", notFinal), text("7", "b", final)},
			want: "ok [a] [bF]",
		},
		{
			name: "only the empty final response", model: llm,
			send: []wire.Response{{ID: "7", Params: []wire.Param{final}}},
			want: "ok [F]",
		},
		{
			name: "an empty text is an entry", model: llm,
			send: []wire.Response{text("7", "", notFinal), text("7", "b", final)},
			want: "ok [] [bF]",
		},
		{
			name: "error with final flag", model: llm,
			send: []wire.Response{text("7", "a", notFinal), {ID: "7", Error: "boom", Params: []wire.Param{final}}},
			want: `rpc_error "boom" [a] [FE]`,
		},
		{
			name: "error, then final", model: llm,
			send: []wire.Response{text("7", "a", notFinal), {ID: "7", Error: "boom", Params: []wire.Param{notFinal}}, {ID: "7", Params: []wire.Param{final}}},
			want: `rpc_error "boom" [a] [E] [F]`,
		},
		{
			name: "error without flag", model: llm,
			send: []wire.Response{{ID: "7", Error: "bad\nrequest"}},
			want: `rpc_error "bad request" [E]`,
		},
		{
			name: "error without response", model: llm,
			send: []wire.Response{{Error: "boom"}},
			want: `rpc_error "boom" [E]`,
		},
		{
			name: "text of another request is dropped", model: llm,
			send: []wire.Response{text("6", "late", final), text("7", "a", final)},
			want: "ok [aF]",
		},
		{
			name: "not decoupled, no flag", model: adder,
			send: []wire.Response{text("7", "a")},
			want: "ok []",
		},
		{
			name: "not decoupled, flag", model: adder,
			send: []wire.Response{text("7", "a", final)},
			want: "ok [F]",
		},
		{
			name: "the server ends the stream", model: llm, reopens: true,
			send: []wire.Response{text("7", "a", notFinal)}, err: errEnd,
			want: `truncated 14 "the server closed the stream before the answer was complete" [a]`,
		},
		{
			name: "the server ends the stream without an answer", model: llm, reopens: true,
			err:  errEnd,
			want: `rpc_error 14 "the server closed the stream before the answer was complete"`,
		},
		{
			name: "the server ends the stream with a status", model: llm, reopens: true,
			send: []wire.Response{text("7", "a", notFinal)}, err: status.Error(codes.Internal, "broken"),
			want: `rpc_error 13 "broken" [a]`,
		},
		{
			name: "the server's own deadline", model: llm, reopens: true,
			err:  status.Error(codes.DeadlineExceeded, "too slow"),
			want: `timeout 4 "too slow"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
				if req.ID == "8" {
					send(text("8", "next", final))
					return nil
				}
				for _, r := range tt.send {
					send(r)
				}
				return tt.err
			})
			b := f.open(t, Config{Protocol: GRPC, Model: tt.model.name, Streaming: true})
			s := openSlot(t, b, 0)
			p := prepare(t, b, validEntry(tt.model))
			if got := show(exchange(t.Context(), t, b, s, p, 7)); got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
			if broken := s.(*grpcSender).stream == nil; broken != tt.reopens {
				t.Errorf("stream given up: %v, want %v", broken, tt.reopens)
			}
			x := exchange(t.Context(), t, b, s, p, 8)
			if x.Request.Status != export.StatusOK || !x.Request.Reused {
				t.Errorf("next request: %s, reused %v", show(x), x.Request.Reused)
			}
		})
	}
}

func validEntry(m fakeModel) *workload.Entry {
	if m.name == adder.name {
		return entry("A", "[1,2]")
	}
	return entry("text_input", `["hi"]`)
}

// Every output of the model is in every response, in its order.
func TestStreamOutputs(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		r := text(req.ID, "x", final)
		r.Outputs = append(r.Outputs, wire.Tensor{Name: "count", Datatype: wire.INT32, Data: []byte{5, 0, 0, 0}})
		send(wire.Response{ID: req.ID, Params: []wire.Param{notFinal}, Outputs: r.Outputs[1:]})
		send(r)
		return nil
	})
	b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true})
	x := exchange(t.Context(), t, b, openSlot(t, b, 0), prepare(t, b, validEntry(llm)), 1)
	want := []export.Fields{
		{{Name: "text_output", Value: export.Text("")}, {Name: "count", Value: export.JSON("5")}},
		{{Name: "text_output", Value: export.Text("x")}, {Name: "count", Value: export.JSON("5")}},
	}
	for i, r := range x.Request.Responses {
		if diff := cmp.Diff(want[i], r.Outputs); diff != "" {
			t.Errorf("response %d:\n%s", i, diff)
		}
	}
}

// The server sees id, parameters, tensors and metadata.
func TestRequestOnTheWire(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	})
	for _, tt := range []struct {
		name   string
		c      Config
		params []wire.Param
	}{
		{"stream", Config{Protocol: GRPC, Streaming: true}, []wire.Param{
			{Name: "n", Value: int64(3)}, {Name: "triton_enable_empty_final_response", Value: true},
		}},
		{"unary", Config{Protocol: GRPC}, []wire.Param{{Name: "n", Value: int64(3)}}},
		{"http", Config{}, []wire.Param{{Name: "n", Value: int64(3)}, {Name: "binary_data_output", Value: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.c
			c.Model, c.Version, c.BatchSize = "adder", "1", 2
			c.Parameters = []wire.Param{{Name: "n", Value: int64(3)}}
			c.Headers = http.Header{"Authorization": {"Bearer x"}}
			b := f.open(t, c)
			s := openSlot(t, b, 4)
			x := &backend.Exchange{Request: export.Request{ID: 12345678901234567890}}
			s.Send(t.Context(), prepare(t, b, entry("A", "[1,2]")), x)
			if x.Request.Status != export.StatusOK || x.Request.Conn == 0 {
				t.Errorf("%s, connection %d", show(x), x.Request.Conn)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			got, md := f.seen[len(f.seen)-1], f.meta[len(f.meta)-1]
			want := &wire.Request{ID: "12345678901234567890", Params: tt.params, Inputs: []wire.Tensor{
				{Name: "A", Datatype: wire.INT32, Shape: []int64{2, 2}, Data: []byte("\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"), Binary: c.Protocol == HTTP},
			}}
			if c.Protocol == GRPC {
				want.Model, want.Version = "adder", "1"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer x" {
				t.Errorf("authorization %q", got)
			}
		})
	}
}

// {{request}} has another value for each request, over HTTP and in gRPC metadata, and a request that cannot have it refuses it.
func TestRequestIDInHeaders(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	})
	for _, protocol := range []Protocol{HTTP, GRPC} {
		b := f.open(t, Config{Protocol: protocol, Model: "adder", Headers: http.Header{"Authorization": {"Bearer x", "id {{request}}"}}, RequestIDSeed: 4})
		s := openSlot(t, b, 0)
		p := prepare(t, b, entry("A", "[1,2]"))
		ids := map[string]bool{}
		for id := range uint64(3) {
			x := exchange(t.Context(), t, b, s, p, id+1)
			f.mu.Lock()
			got := f.meta[len(f.meta)-1].Get("authorization")
			f.mu.Unlock()
			if want := []string{"Bearer x", "id " + x.Request.RequestID}; !slices.Equal(got, want) {
				t.Errorf("protocol %v: %q, want %q", protocol, got, want)
			}
			ids[x.Request.RequestID] = true
		}
		if len(ids) != 3 || ids[""] {
			t.Errorf("protocol %v: ids %v, want 3", protocol, ids)
		}
	}
	for _, tt := range []struct {
		c     Config
		value string
		want  string
	}{
		{Config{}, "{{session}}", "header X-A: {{session}} has no value, because requests to Triton belong to no session; use {{request}}"},
		{Config{Protocol: GRPC, Streaming: true}, "{{request}}", "header X-A: {{request}} has no value, because all requests of a gRPC stream share its headers; drop --streaming"},
		{Config{}, "{{x}}", "header X-A: {{x}} is not a placeholder"},
	} {
		tt.c.Model, tt.c.Headers = "m", http.Header{"X-A": {tt.value}}
		if _, err := New(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.value, err, tt.want)
		}
	}
}

func TestUnary(t *testing.T) {
	arrived := make(chan struct{}, 10)
	f := startFake(t, func(ctx context.Context, req *wire.Request, send func(wire.Response)) error {
		switch req.ID {
		case "1":
			send(wire.Response{ID: "1", Outputs: []wire.Tensor{{Name: "SUM", Datatype: wire.INT32, Shape: []int64{2}, Data: make([]byte, 8)}}})
			return nil
		case "2":
			return status.Error(codes.InvalidArgument, "INPUT0 starts with -1")
		}
		arrived <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	b := f.open(t, Config{Protocol: GRPC, Model: "adder"})
	s := openSlot(t, b, 0)
	p := prepare(t, b, validEntry(adder))
	for id, want := range map[uint64]string{
		1: "ok [[0,0]]",
		2: `rpc_error 3 "INPUT0 starts with -1"`,
	} {
		if got := show(exchange(t.Context(), t, b, s, p, id)); got != want {
			t.Errorf("request %d:\ngot  %s\nwant %s", id, got, want)
		}
	}
	testStop(t, arrived, b, s, p)
}

// testStop gives up requests that are never answered. The server reports on
// arrived that it has one.
func testStop(t *testing.T, arrived <-chan struct{}, b *Backend, s backend.Sender, p backend.Payload) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { <-arrived; cancel() })
	if got, want := show(exchange(ctx, t, b, s, p, 99)), `cancelled "cancelled"`; got != want {
		t.Errorf("cancelled:\ngot  %s\nwant %s", got, want)
	}
	wg.Wait()
	if got, want := show(exchange(ctx, t, b, s, p, 99)), `cancelled "cancelled"`; got != want {
		t.Errorf("cancelled before:\ngot  %s\nwant %s", got, want)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, want := show(exchange(ctx, t, b, s, p, 99)), `timeout "no complete answer within the request's time limit"`; got != want {
		t.Errorf("timeout:\ngot  %s\nwant %s", got, want)
	}
}

// A request that is cancelled in the middle keeps the responses so far, the server's handler learns
// of it, and the next request is not disturbed.
func TestStreamCancel(t *testing.T) {
	told := make(chan error, 10)
	f := startFake(t, func(ctx context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "a", notFinal))
		if req.ID == "2" {
			send(text(req.ID, "b", final))
			return nil
		}
		<-ctx.Done()
		told <- ctx.Err()
		send(text(req.ID, "late", final))
		return nil
	})
	b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true})
	s := openSlot(t, b, 0)
	p := prepare(t, b, validEntry(llm))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, want := show(exchange(ctx, t, b, s, p, 1)), `timeout "no complete answer within the request's time limit" [a]`; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	<-told
	if got, want := show(exchange(t.Context(), t, b, s, p, 2)), "ok [a] [bF]"; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if got, want := show(exchange(ctx, t, b, s, p, 3)), `cancelled "cancelled"`; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}

// The server dies in the middle of an answer: that one is truncated, the next
// one finds no server.
func TestServerKilled(t *testing.T) {
	killed := make(chan struct{})
	f := startFake(t, func(ctx context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "a", notFinal))
		close(killed)
		<-ctx.Done()
		return ctx.Err()
	})
	b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true})
	s := openSlot(t, b, 0)
	p := prepare(t, b, validEntry(llm))
	var wg sync.WaitGroup
	wg.Go(func() { <-killed; f.grpc.Stop() })
	x := exchange(t.Context(), t, b, s, p, 1)
	wg.Wait()
	if r := &x.Request; r.Status != export.StatusTruncated && r.Status != export.StatusRPCError || r.Code != int(codes.Unavailable) || r.Message == "" {
		t.Errorf("killed: %s", show(x))
	}
	// The connection may need a moment to notice.
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	x = exchange(ctx, t, b, s, p, 2)
	for x.Request.Status == export.StatusRPCError {
		x = exchange(ctx, t, b, s, p, 2)
	}
	if x.Request.Status != export.StatusConnectError || x.Request.StartNS != 0 {
		t.Errorf("after: %s", show(x))
	}
}

// A sender finds the server again that comes back at the same address.
func TestServerRestarted(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "a", final))
		return nil
	})
	b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true})
	s := openSlot(t, b, 0)
	p := prepare(t, b, validEntry(llm))
	f.grpc.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	x := exchange(ctx, t, b, s, p, 1)
	for x.Request.Status == export.StatusRPCError {
		x = exchange(ctx, t, b, s, p, 1)
	}
	if x.Request.Status != export.StatusConnectError {
		t.Fatalf("without a server: %s", show(x))
	}
	l, err := net.Listen("tcp", f.grpcAddr)
	if err != nil {
		t.Fatal(err)
	}
	again := grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(again, f)
	var wg sync.WaitGroup
	wg.Go(func() { _ = again.Serve(l) }) // ends with Stop
	defer wg.Wait()
	defer again.Stop()
	for x.Request.Status != export.StatusOK && ctx.Err() == nil {
		x = exchange(ctx, t, b, s, p, 2)
	}
	if got, want := show(x), "ok [aF]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Eight slots at a time, on connections of their own and on shared ones.
func TestConcurrency(t *testing.T) {
	const slots, requests, tokens = 8, 30, 5
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		for i := range tokens {
			send(text(req.ID, fmt.Sprintf("%s.%d", req.ID, i), notFinal))
		}
		send(wire.Response{ID: req.ID, Params: []wire.Param{final}})
		return nil
	})
	for _, connections := range []int{0, 3} {
		b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true, Connections: connections})
		p := prepare(t, b, validEntry(llm))
		exchanges := make(chan *backend.Exchange, slots*requests)
		var wg sync.WaitGroup
		for slot := range slots {
			s := openSlot(t, b, slot)
			wg.Go(func() {
				for i := range requests {
					x := &backend.Exchange{Request: export.Request{ID: uint64(slot*requests + i)}}
					s.Send(t.Context(), p, x)
					exchanges <- x
				}
			})
		}
		wg.Wait()
		close(exchanges)
		conns := map[int]bool{}
		for x := range exchanges {
			if err := b.Decode(x); err != nil {
				t.Fatal(err)
			}
			want := "ok"
			for i := range tokens {
				want += fmt.Sprintf(" [%d.%d]", x.Request.ID, i)
			}
			if got := show(x); got != want+" [F]" {
				t.Fatalf("\ngot  %s\nwant %s [F]", got, want)
			}
			if want := (backend.Tokens{N: tokens, Last: tokens - 1}); x.Tokens != want { // not the empty final one
				t.Fatalf("tokens %+v, want %+v", x.Tokens, want)
			}
			conns[x.Request.Conn] = true
		}
		if want := connections; len(conns) != want && (want != 0 || len(conns) != slots) {
			t.Errorf("%d connections asked for, %d seen", connections, len(conns))
		}
	}
}

// BenchmarkStream receives 100 messages per request from a server that encodes
// nothing either.
func BenchmarkStream(b *testing.B) {
	const tokens = 100
	next, last := text("1", " token", notFinal), text("1", " token", final)
	more, end := next.AppendStream(nil), last.AppendStream(nil)
	srv := grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		var in incoming
		for s.RecvMsg(&in) == nil {
			for i := range tokens {
				m := more
				if i == tokens-1 {
					m = end
				}
				if err := s.SendMsg(&outgoing{head: m}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	l := nettest.Listen(b)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	b.Cleanup(func() { srv.Stop(); wg.Wait() })

	be, err := New(Config{URL: l.Addr().String(), Protocol: GRPC, Model: "llm", Streaming: true})
	if err != nil {
		b.Fatal(err)
	}
	be.model = modelInfo{Name: "llm", Decoupled: true, Inputs: llm.inputs, Outputs: llm.outputs}
	s := openSlot(b, be, 0)
	p := prepare(b, be, validEntry(llm))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		x := &backend.Exchange{Request: export.Request{ID: 1}}
		x.Pack()
		s.Send(b.Context(), p, x)
		if x.Request.Status != export.StatusOK {
			b.Fatal(x.Request.Message)
		}
		n += len(x.Request.Responses)
		x.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/message")
}
