package kserve

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/pa-tools/pa/internal/grpcconn"
	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Times are the kernel's over every protocol, where a socket here has them.
func TestStampSources(t *testing.T) {
	defer sockstamp.Hold()()
	answer := func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		if len(req.Inputs) > 0 && req.Inputs[0].Name == "A" {
			send(wire.Response{ID: req.ID, Outputs: []wire.Tensor{{Name: "SUM", Datatype: wire.INT32, Shape: []int64{2}, Data: req.Inputs[0].Data}}})
			return nil
		}
		for range 3 {
			send(text(req.ID, "x", notFinal))
		}
		send(text(req.ID, "x", final))
		return nil
	}
	f, secure := startFake(t, answer), startFakeTLS(t, answer)
	want := export.SourceUser
	if nettest.KernelStamps(t) {
		want = export.SourceKernel
	}
	for _, tt := range []struct {
		name string
		cfg  Config
		want export.StampSource
	}{
		{"gRPC stream", Config{Protocol: GRPC, Model: "llm", Streaming: true}, want},
		{"gRPC unary", Config{Protocol: GRPC, Model: "adder"}, want},
		{"HTTP", Config{Protocol: HTTP, Model: "adder"}, want},
		{"gRPC stream, shared connection", Config{Protocol: GRPC, Model: "llm", Streaming: true, Connections: 1}, want},
		{"gRPC stream, fresh connections", Config{Protocol: GRPC, Model: "llm", Streaming: true, Reuse: backend.Fresh}, want},
		{"HTTP, fresh connections", Config{Protocol: HTTP, Model: "adder", Reuse: backend.Fresh}, want},
		{"gRPC stream, in user space", Config{Protocol: GRPC, Model: "llm", Streaming: true, UserStamps: true}, export.SourceUser},
		{"gRPC unary, in user space", Config{Protocol: GRPC, Model: "adder", UserStamps: true}, export.SourceUser},
		{"HTTP, in user space", Config{Protocol: HTTP, Model: "adder", UserStamps: true}, export.SourceUser},
	} {
		testStampSources(t, tt.name, f, tt.cfg, tt.want)
		testStampSources(t, tt.name+", TLS", secure, tt.cfg, tt.want)
	}
}

func testStampSources(t *testing.T, name string, f *fakeTriton, cfg Config, want export.StampSource) {
	t.Run(name, func(t *testing.T) {
		b := f.open(t, cfg)
		s := openSlot(t, b, 0)
		m := llm
		if cfg.Model == "adder" {
			m = adder
		}
		p := prepare(t, b, validEntry(m))
		for id := range uint64(3) {
			r := &exchange(t.Context(), t, b, s, p, id+1).Request
			if r.Status != export.StatusOK || r.StartSource != want {
				t.Errorf("request %d: %v %s, start by %v, want %v", r.ID, r.Status, r.Message, r.StartSource, want)
			}
			if r.IssuedNS > r.StartNS || r.StartNS > r.SentNS || r.FirstByteNS < r.StartNS || r.FirstByteNS > r.Responses[0].RecvNS {
				t.Errorf("request %d: issued %d, start %d, sent %d, first byte %d, response %d are not in order",
					r.ID, r.IssuedNS, r.StartNS, r.SentNS, r.FirstByteNS, r.Responses[0].RecvNS)
			}
			for i, p := range r.Responses {
				if p.Source != want {
					t.Errorf("request %d, response %d by %v, want %v", r.ID, i, p.Source, want)
				}
			}
		}
	})
}

// The connection keeps no stamps of calls that are over, also if their answer began and failed.
func TestForget(t *testing.T) {
	for _, c := range []Config{
		{Protocol: GRPC},
		{Protocol: GRPC, Connections: 1},
		{Protocol: GRPC, Streaming: true},
		{Protocol: GRPC, Streaming: true, Connections: 1},
	} {
		t.Run(fmt.Sprintf("streaming %v, %d connections", c.Streaming, c.Connections), func(t *testing.T) {
			b, s, p := openLimited(t, 10_000, c)
			for i, want := range []export.Status{export.StatusProtocolError, export.StatusOK} {
				if r := &exchange(t.Context(), t, b, s, p, uint64(i+1)).Request; r.Status != want {
					t.Errorf("request %d: %v %q, want %v", r.ID, r.Status, r.Message, want)
				}
			}
			sender := s.(*grpcSender)
			sender.drop() // ends the call of a stream
			var at peer.Peer
			_, _ = pb.NewGRPCInferenceServiceClient(sender.conn).ServerLive(t.Context(), &pb.ServerLiveRequest{}, grpc.Peer(&at))
			follower, ok := grpcconn.FromContext(peer.NewContext(t.Context(), &at))
			if !ok || follower.Newest() < 5 {
				t.Fatalf("no follower, or no two calls went over its connection: %v", ok)
			}
			for stream := uint32(1); stream < follower.Newest(); stream += 2 { // the newest is of ServerLive
				if _, ok := follower.First(stream, 0); ok {
					t.Errorf("the stamps of stream %d are kept", stream)
				}
			}
		})
	}
}

// A callLog is a follower that notes the calls about revised stamps.
type callLog struct {
	follower
	calls []string
}

func (l *callLog) Revised(ordinal uint64) []sockstamp.Stamp {
	l.calls = append(l.calls, "revised")
	return l.follower.Revised(ordinal)
}

func (l *callLog) Complete(stream uint32) {
	l.calls = append(l.calls, fmt.Sprint("complete ", stream))
	l.follower.Complete(stream)
}

// Each request of a stream takes its revised stamps and then needs no more of them, also if it fails: a
// connection keeps few.
func TestStreamCompletes(t *testing.T) {
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		if req.ID == "3" {
			send(wire.Response{ID: req.ID, Error: "no"})
			return nil
		}
		send(text(req.ID, "x", notFinal))
		send(text(req.ID, "x", final))
		return nil
	})
	for _, connections := range []int{0, 1} {
		b := f.open(t, Config{Protocol: GRPC, Model: "llm", Streaming: true, Connections: connections})
		s, p := openSlot(t, b, 0), prepare(t, b, validEntry(llm))
		exchange(t.Context(), t, b, s, p, 1) // the first answer shows the follower
		stamps := &s.(*grpcSender).stream.stamps
		log := &callLog{follower: stamps.follower}
		stamps.follower = log
		want := []string{"revised", fmt.Sprint("complete ", stamps.stream)}
		for id := uint64(2); id < 5; id++ {
			log.calls = nil
			exchange(t.Context(), t, b, s, p, id)
			if !slices.Equal(log.calls, want) {
				t.Errorf("%d connections, request %d: %q, want %q", connections, id, log.calls, want)
			}
		}
	}
}
