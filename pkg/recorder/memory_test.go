package recorder

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A nullWriter keeps nothing.
type nullWriter struct{ export.Writer }

func (nullWriter) WriteRequest(*export.Request) error { return nil }

// A finished request leaves nothing behind, however long the level: not with one
// window for all of it, nor with the percentile of each.
func TestMemoryPerRequest(t *testing.T) {
	const n = 1 << 17 // twice as many as latencies are kept exactly
	for name, m := range map[string]window.Measure{
		"one window":   {Requests: 6 * n},
		"long windows": {Mode: window.ByCount, WindowRequests: n, MaxTrials: 10, Percentile: 99},
	} {
		t.Run(name, func(t *testing.T) {
			clock := rxclock.New()
			fake := &fakeServer{clock: clock, answer: func(uint64) answer { return answer{} }}
			l := &levelRun{
				runState:  &runState{cfg: Config{Backend: fake, Writer: nullWriter{}, Clock: clock}},
				completed: drive.NewQueue(), driver: drive.New(load.Concurrency{N: 1}, drive.Stage{}), client: startClientStats(), meter: window.NewMeter(m, 1),
			}
			x := &backend.Exchange{Request: export.Request{Responses: make([]export.Response, 1)}}
			var after [6]float64 // the last windows' latencies are kept, so it takes as many to get there
			for i := range after {
				for k := range n {
					id := uint64(i*n + k + 1)
					r := &x.Request
					r.ID, r.Status, r.Phase, r.StartNS = id, export.StatusOK, export.PhaseMeasured, id*ms
					r.Responses[0] = export.Response{RecvNS: (id+1+id%1000)*ms + id, Source: export.SourceKernel}
					x.Tokens = backend.Tokens{}
					l.decode(x)
					l.settle(x)
				}
				after[i] = float64(liveHeap())
			}
			runtime.KeepAlive(l)
			if l.out.OK != len(after)*n || l.latencies.Summary().Percentiles[50] == 0 {
				t.Fatalf("%d requests counted; want %d, with latencies", l.out.OK, len(after)*n)
			}
			if grown := (after[5] - after[4]) / n; grown > 0.1 { // of other tests' leftovers
				t.Errorf("%.2f bytes per request (the heap: %.0f), want none", grown, after)
			}
		})
	}
}

// An inspector is a writer that looks at the memory in use while it is given request number at.
type inspector struct {
	nullWriter
	t      *testing.T
	at     int
	seen   int
	events int // of each request, with outputs
	live   int64
}

func (w *inspector) WriteRequest(r *export.Request) error {
	if len(r.Responses) != w.events || len(r.Responses[w.events-1].Outputs) != 1 || len(r.Responses[w.events-1].Outputs[0].Value.Data) < 100 {
		w.t.Fatalf("request %d has %d responses, or no outputs", r.ID, len(r.Responses))
	}
	if w.seen++; w.seen == w.at {
		w.live = liveHeap()
	}
	return nil
}

// A decoder gives each response its bytes as output, as a backend does.
type decoder struct{ *fakeServer }

func (decoder) Decode(x *backend.Exchange) error {
	outputs := x.Fields(len(x.Raw))
	for i, raw := range x.Raw {
		outputs[i] = export.Field{Name: "response", Value: export.Value{Text: true, Data: raw}}
		x.Request.Responses[i].Outputs = outputs[i : i+1 : i+1]
	}
	return nil
}

// liveHeap returns the bytes in use. Memory in a sync.Pool does not count.
func liveHeap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // below 2^63
}

// Answers that wait to be decoded take a fraction of their bytes, decoding holds one answer at a time, and no answer
// leaves anything behind.
func TestMemoryOfAnswers(t *testing.T) {
	const answers, events = 64, 800
	clock := rxclock.New()
	w := &inspector{t: t, at: answers / 2, events: events}
	fake := decoder{&fakeServer{clock: clock, answer: func(uint64) answer { return answer{} }}}
	l := &levelRun{
		runState:  &runState{cfg: Config{Backend: fake, Writer: w, Clock: clock}},
		completed: drive.NewQueue(), driver: drive.New(load.Concurrency{N: 1}, drive.Stage{}), client: startClientStats(),
		meter: window.NewMeter(window.Measure{Requests: 10 * answers}, 1), scratch: &backend.Scratch{},
	}
	put := func(n int) (size int64) {
		for i := range n {
			x := &backend.Exchange{Request: export.Request{ID: uint64(i + 1), Status: export.StatusOK, Phase: export.PhaseMeasured, StartNS: ms}}
			x.Pack()
			for k := range events {
				raw := fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-%09d\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"token %d\"},\"finish_reason\":null}]}\n\n", i, k)
				size += int64(len(raw))
				x.Respond(export.Response{RecvNS: uint64(k+2) * ms, Source: export.SourceKernel, Read: uint32(k)}, raw)
			}
			x.Request.FailedNS = clock.NowNS()
			l.completed.Put(x)
		}
		return size
	}
	put(1)
	l.collect() // what is kept once
	w.seen = 0
	before := liveHeap()
	size := put(answers)
	waiting := liveHeap() - before
	l.collect()
	after := liveHeap() - before
	runtime.KeepAlive(l)
	if waiting < size/20 || waiting > size/2 {
		t.Errorf("%d bytes while %d bytes of answers wait, want a half at most", waiting, size)
	}
	// A half of the answers waits, and one is decoded.
	if most := waiting*6/10 + 8*size/answers; w.live-before > most {
		t.Errorf("%d bytes while answer %d of %d is written, want at most %d", w.live-before, w.at, answers, most)
	}
	if after > size/50 {
		t.Errorf("%d bytes after the answers, want none", after)
	}
	if w.seen != answers {
		t.Errorf("%d answers written, want %d", w.seen, answers)
	}
}
