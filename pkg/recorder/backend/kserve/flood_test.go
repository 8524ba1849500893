package kserve

import (
	"context"
	"fmt"
	"testing"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A flooding Triton sends empty messages before its answers: to the request "1"
// without end.
type flooding struct {
	*fakeTriton
	message *pb.ModelStreamInferResponse
	before  int // messages before any other answer
}

func (f flooding) ModelStreamInfer(s pb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := s.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		for i := 0; i < f.before || r.Id == "1"; i++ {
			if err := s.Send(f.message); err != nil {
				return nil //nolint:nilerr // the client is gone
			}
		}
		resp := text(r.Id, "x", final)
		if err := s.Send(streamMessage(&resp)); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
}

// An endless answer of empty messages ends as a failed row that says why, takes
// little memory, and harms neither the next request of its slot nor one with
// some empty messages.
func TestFlood(t *testing.T) {
	const budget = 1 << 20
	for name, message := range map[string]*pb.ModelStreamInferResponse{
		"empty":          {},
		"empty response": {InferResponse: &pb.ModelInferResponse{}},
		"an id":          {InferResponse: &pb.ModelInferResponse{Id: "1"}},
	} {
		for _, shared := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d connections", name, shared), func(t *testing.T) {
				f := startFake(t, func(context.Context, *wire.Request, func(wire.Response)) error { return nil })
				const before = backend.RecordedEmptyEvents + 500
				f.grpcAddr = serveGRPC(t, flooding{f, message, before})
				b := f.open(t, Config{Model: "llm", Protocol: GRPC, Streaming: true, MaxAnswerMemory: budget, Connections: shared})
				s, p := openSlot(t, b, 0), prepare(t, b, entry("text_input", `["x"]`))
				x := exchange(t.Context(), t, b, s, p, 1)
				r := &x.Request
				const want = "the answer exceeds its memory budget of 1048576 bytes; --max-answer-memory raises it"
				if r.Status != export.StatusProtocolError || r.Message != want {
					t.Errorf("%v, %q; want a protocol error that says %q", r.Status, r.Message, want)
				}
				if len(x.Raw) > 16 || r.UnrecordedEvents < budget/backend.EventMemory/2 {
					t.Errorf("%d messages kept, %d counted", len(x.Raw), r.UnrecordedEvents)
				}
				// So many messages at once are more than the stamps of a stream that are
				// kept: the times of some are the library's.
				x = &backend.Exchange{Request: export.Request{ID: 2}}
				s.Send(t.Context(), p, x)
				if r := &x.Request; r.Status != export.StatusOK {
					t.Errorf("the next request: %v, %q", r.Status, r.Message)
				} else if name != "an id" && (len(r.Responses) != backend.RecordedEmptyEvents+1 || r.UnrecordedEvents != before-backend.RecordedEmptyEvents) {
					t.Errorf("the next request: %d responses, %d messages counted of %d", len(r.Responses), r.UnrecordedEvents, before)
				}
			})
		}
	}
}
