package recorder_test

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A witness watches how the recorder calls a backend.
type witness struct {
	backend.Backend
	sending, preparing, decoding atomic.Int32
	// duringLoad counts calls of Prepare while requests were under way, together
	// counts calls of Turn at the same time, overlaps counts calls that the contract
	// forbids at the same time.
	duringLoad, together, overlaps atomic.Int32
	uncounted                      atomic.Int32 // requests whose responses were not counted as they arrived
}

// one is around a call of which there is one at a time.
func (w *witness) one(running *atomic.Int32) func() {
	if running.Add(1) > 1 {
		w.overlaps.Add(1)
	}
	time.Sleep(50 * time.Microsecond) // so that another call would be seen
	return func() { running.Add(-1) }
}

func (w *witness) Prepare(e *workload.Entry) (backend.Payload, error) {
	if w.sending.Load() > 0 {
		w.duringLoad.Add(1)
	}
	defer w.one(&w.preparing)()
	return w.Backend.Prepare(e)
}

func (w *witness) Decode(x *backend.Exchange) error {
	defer w.one(&w.decoding)()
	return w.Backend.Decode(x)
}

func (w *witness) Open(ctx context.Context, slot int, clock *rxclock.Clock) (backend.Sender, error) {
	s, err := w.Backend.Open(ctx, slot, clock)
	return &watchedSender{s, w}, err
}

type watchedSender struct {
	backend.Sender
	w *witness
}

func (s *watchedSender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	s.w.sending.Add(1)
	defer s.w.sending.Add(-1)
	var arrived atomic.Uint64
	x.Arrived = &arrived
	s.Sender.Send(ctx, p, x)
	if arrived.Load() != uint64(len(x.Request.Responses)) {
		s.w.uncounted.Add(1)
	}
}

// A talkingWitness is one of a backend.Conversational.
type talkingWitness struct{ *witness }

func (w talkingWitness) NewConversation() backend.Conversation {
	return &watchedConversation{w.Backend.(backend.Conversational).NewConversation(), w.witness}
}

type watchedConversation struct {
	backend.Conversation
	w *witness
}

func (c *watchedConversation) Turn(e *workload.Entry) (backend.Payload, error) {
	if c.w.preparing.Add(1) > 1 {
		c.w.together.Add(1)
	}
	defer c.w.preparing.Add(-1)
	time.Sleep(time.Millisecond)
	return c.Conversation.Turn(e)
}

// The recorder calls backends as package backend says, and the backends stand it:
// that is for the race detector to find.
func TestBackendContract(t *testing.T) {
	srv, err := sim.Start(t.Context(), sim.Config{
		OpenAIAddr: "127.0.0.1:0", TritonGRPCAddr: "127.0.0.1:0", TritonHTTPAddr: "127.0.0.1:0",
		TTFT: plan.ConstantDelay(2 * time.Millisecond), OutputTokens: plan.ConstantLength(2), LedgerLimit: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var chats, prompts, tensors workload.List
	for i := range 40 {
		ask := fmt.Sprintf(`[{"messages":[{"role":"user","content":"question %d"}]}]`, i)
		chats = append(chats, workload.Entry{Session: fmt.Sprint("s", i/4), Turn: i % 4, Values: export.Fields{{Name: "payload", Value: export.JSON(ask)}}})
		prompts = append(prompts, workload.Entry{Values: export.Fields{{Name: "text_input", Value: export.JSON(fmt.Sprintf(`["question %d"]`, i))}}})
		tensors = append(tensors, workload.Entry{Fill: workload.Fill{Kind: workload.FillRandom, Seed: uint64(i)}})
	}
	for _, tt := range []struct {
		name    string
		new     func() (backend.Backend, error)
		entries workload.List
		level   load.Level
	}{
		{
			"OpenAI", func() (backend.Backend, error) {
				return openai.New(openai.Config{URL: srv.OpenAIURL(), Streaming: true, ExtraBody: []byte(`{"max_tokens":4}`)})
			}, chats, load.Concurrency{N: 4},
		},
		{
			"OpenAI, sessions", func() (backend.Backend, error) {
				return openai.New(openai.Config{URL: srv.OpenAIURL(), Streaming: true, ExtraBody: []byte(`{"max_tokens":4}`)})
			}, chats, load.Sessions{N: 8},
		},
		{
			"Triton, gRPC", func() (backend.Backend, error) {
				return kserve.New(kserve.Config{URL: srv.TritonGRPCAddr(), Protocol: kserve.GRPC, Model: "vllm", Streaming: true})
			}, prompts, load.Concurrency{N: 4},
		},
		{
			"Triton, HTTP", func() (backend.Backend, error) {
				return kserve.New(kserve.Config{URL: srv.TritonHTTPURL(), Protocol: kserve.HTTP, Model: "add_sub"})
			}, tensors, load.Concurrency{N: 4},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := rxclock.New()
			b, err := tt.new()
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			w := &witness{Backend: b}
			cfg := recorder.Config{
				Backend: w, Entries: tt.entries, Levels: []load.Level{tt.level}, Measure: window.Measure{Requests: len(tt.entries)},
				KeepBytes: 1, Writer: profilejson.NewWriter(io.Discard), Run: export.Run{Meta: &export.RunMeta{}}, Clock: clock,
			}
			_, sessions := tt.level.(load.Sessions)
			if sessions {
				cfg.Backend, cfg.Measure = talkingWitness{w}, window.Measure{}
			}
			res, err := recorder.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Levels[0]; got.OK != len(tt.entries) {
				t.Errorf("%d requests, want %d", got.OK, len(tt.entries))
			}
			switch {
			case sessions && w.together.Load() == 0:
				t.Error("no two turns were prepared at the same time")
			case !sessions && w.overlaps.Load() > 0:
				t.Errorf("%d calls of Prepare or Decode overlapped", w.overlaps.Load())
			case w.uncounted.Load() > 0:
				t.Errorf("%d requests did not count their responses as they arrived", w.uncounted.Load())
			case !sessions && w.duringLoad.Load() == 0:
				t.Error("nothing was prepared during the load")
			}
		})
	}
}
