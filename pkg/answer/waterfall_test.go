package answer

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// The parts of the TTFT add up to it, whatever a request and its server state, and only the parts of the server and the
// rest can be below 0.
func TestWaterfallSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	divided := 0
	for range 20000 {
		some := func(most int64) int64 {
			if rng.IntN(4) == 0 {
				return 0
			}
			return rng.Int64N(most)
		}
		count := func() export.Int { return export.Int{V: some(3e6), OK: rng.IntN(3) > 0} }
		r := memrun.OpenAI(memrun.Delta("a"), memrun.Done)
		const issued = 1_700_000_000_000_000_000
		r.IssuedNS = issued
		r.StartNS = issued + uint64(some(2e6))
		if rng.IntN(3) > 0 {
			r.SentNS = r.StartNS + uint64(some(2e6))
		}
		r.Connect, r.TLS = time.Duration(some(2e6)), time.Duration(some(1e6))
		for i := range r.Responses {
			r.Responses[i].RecvNS = r.StartNS + 1e6 + uint64(i)
		}
		d := export.Derived{Events: []export.TokenEvent{{}}, Streamed: new(bool)}
		*d.Streamed = true
		d.Server.Queue, d.Server.Prefill, d.Server.TTFT = count(), count(), count()
		from := From(rng.IntN(3))
		q := NewMeter(&export.Run{}, Config{From: from}).MeasureDerived(&r, &d)
		w, ok := q.Waterfall()
		if stated := d.Server.Queue.OK || d.Server.Prefill.OK || d.Server.TTFT.OK; ok != (stated && q.TTFT.OK) {
			t.Fatalf("a waterfall: %v, of TTFT %v and %+v", ok, q.TTFT, d.Server)
		}
		if !ok {
			continue
		}
		divided++
		sum := int64(0)
		for i, v := range w.Parts {
			sum += v.V
			if part := WaterfallPart(i); v.V < 0 && (!part.AtServer() && part != RestPart || !v.OK) {
				t.Fatalf("%s is %v", part, v)
			}
		}
		if sum != q.TTFT.V || w.BoundNS <= 0 {
			t.Fatalf("%v add up to %d, not to %d; bound %d", w.Parts, sum, q.TTFT.V, w.BoundNS)
		}
		if from == FromStart && (w.Parts[WaitPart].OK || w.Parts[ConnectPart].OK) {
			t.Fatalf("%v before the start", w.Parts)
		}
	}
	if divided < 10000 {
		t.Errorf("%d of 20000 requests had parts", divided)
	}
}

func TestWaterfall(t *testing.T) {
	const none = export.Missing
	value := func(v int64) export.Int { return export.Int{V: max(v, 0), OK: v != none} }
	for _, tt := range []struct {
		name                 string
		queue, prefill, ttft int64
		want                 [NumWaterfallParts]export.Int // of a TTFT of 1000 µs that begins with 100 µs to send
		bound                int64
	}{
		{"vLLM", 200e3, 400e3, none, [...]export.Int{{}, {}, export.IntOf(100e3), export.IntOf(200e3), export.IntOf(400e3), {}, export.IntOf(300e3)}, 2600},
		{"vLLM, with the sum", 200e3, 400e3, 600e3, [...]export.Int{{}, {}, export.IntOf(100e3), export.IntOf(200e3), export.IntOf(400e3), {}, export.IntOf(300e3)}, 2600},
		{"llama.cpp", none, 400e3, none, [...]export.Int{{}, {}, export.IntOf(100e3), {}, export.IntOf(400e3), {}, export.IntOf(500e3)}, 1400},
		{"a first decode", 200e3, 400e3, 650e3, [...]export.Int{{}, {}, export.IntOf(100e3), export.IntOf(200e3), export.IntOf(400e3), export.IntOf(50e3), export.IntOf(250e3)}, 3650},
		{"queue and TTFT", 200e3, none, 650e3, [...]export.Int{{}, {}, export.IntOf(100e3), export.IntOf(200e3), export.IntOf(450e3), {}, export.IntOf(250e3)}, 2650},
		{"TTFT alone", none, none, 650e3, [...]export.Int{{}, {}, export.IntOf(100e3), {}, export.IntOf(650e3), {}, export.IntOf(250e3)}, 1650},
		{"more than passed", 200e3, 800e3, none, [...]export.Int{{}, {}, export.IntOf(100e3), export.IntOf(200e3), export.IntOf(800e3), {}, export.IntOf(-100e3)}, 3000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := Measures{TTFT: export.IntOf(1000e3), Send: export.IntOf(100e3)}
			m.Server.Queue, m.Server.Prefill, m.Server.TTFT = value(tt.queue), value(tt.prefill), value(tt.ttft)
			w, ok := m.Waterfall()
			if !ok || w.Parts != tt.want || w.BoundNS != tt.bound {
				t.Errorf("%v, bound %d, want %v, %d", w.Parts, w.BoundNS, tt.want, tt.bound)
			}
		})
	}
	if _, ok := (&Measures{TTFT: export.IntOf(1)}).Waterfall(); ok {
		t.Error("a request without times of the server has a waterfall")
	}
}
