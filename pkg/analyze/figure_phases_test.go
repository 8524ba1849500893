package analyze

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// phasesOf returns the figures of a run with these scrapes of series, before and after the requests.
func phasesOf(t *testing.T, r *memrun.Reader, values map[string][2]float64) map[string]figure.Figure {
	t.Helper()
	r.Header.Experiments[0].WindowBoundaries = []uint64{1000, 9000}
	scrapes := []export.Scrape{{Source: "s", StartNS: 900, EndNS: 900}, {Source: "s", StartNS: 9100, EndNS: 9100}}
	for name, v := range values {
		x := &export.Series{Source: "s", Name: name}
		for i := range scrapes {
			scrapes[i].Samples = append(scrapes[i].Samples, export.Sample{Series: x, Value: v[i]})
		}
	}
	if values != nil {
		r.Telemetry = scrapes
	}
	rep, err := Run(t.Context(), r, Config{Phases: true})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]figure.Figure{}
	for _, f := range rep.Experiments[0].Phases.Figures {
		all[f.Key] = f
	}
	return all
}

func TestPhases(t *testing.T) {
	chats := func() *memrun.Reader {
		return memrun.New("openai", []export.Request{prompt(1000, 5, "", 500), prompt(2000, 5, "", 1500)})
	}
	timings := func() *memrun.Reader {
		with := func(start uint64, ms string) export.Request {
			q := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"timings\":{\"prompt_ms\":"+ms+",\"predicted_ms\":0.003}}\n\n", memrun.Done)
			q.StartNS = start
			for i := range q.Responses {
				q.Responses[i].RecvNS = start + 6000 + uint64(i)*10
			}
			return q
		}
		return memrun.New("openai", []export.Request{with(1000, "0.001"), with(2000, "0.002")})
	}
	imported := func() *memrun.Reader {
		r := chats()
		r.Header.Meta = &export.RunMeta{Import: &export.Import{Format: "GuideLLM benchmarks.json"}}
		return r
	}
	triton := func() *memrun.Reader {
		return memrun.New("triton", []export.Request{memrun.Tensors(memrun.Text("a")), memrun.Tensors(memrun.Text("a"))})
	}
	decoupled := func() *memrun.Reader {
		return memrun.New("triton", []export.Request{memrun.Tensors(memrun.Text("a"), memrun.Text("b"))})
	}
	const (
		na    = "no server metric and no answer states it; record with --collect-metrics, or start vLLM with --enable-per-request-metrics; SGLang and Dynamo: record with --ask-server-times"
		other = "one of the others is not known"
		lacks = "GuideLLM benchmarks.json holds no times of the server"
	)
	for _, tt := range []struct {
		name                         string
		run                          func() *memrun.Reader
		values                       map[string][2]float64 // before and after
		queue, prefill, decode, rest float64
		why                          [4]string
		from                         string // of prefill
	}{
		// Four requests waited 400 ns, prefilled for 1200 ns and decoded for 2000 ns in all. E2EL: 540 and
		// 1540 ns.
		{"vLLM", chats, map[string][2]float64{
			"vllm:request_queue_time_seconds_sum": {1, 1 + 400e-9}, "vllm:request_queue_time_seconds_count": {5, 9},
			"vllm:request_prefill_time_seconds_sum": {2, 2 + 1200e-9}, "vllm:request_prefill_time_seconds_count": {5, 9},
			"vllm:request_decode_time_seconds_sum": {3, 3 + 2000e-9}, "vllm:request_decode_time_seconds_count": {5, 9},
		}, 100, 300, 500, 1040 - 900, [4]string{}, "vllm:request_prefill_time_seconds"},
		{"nothing", chats, nil, 0, 0, 0, 0, [4]string{na, na, na, other}, ""},
		{"another tool", imported, nil, 0, 0, 0, 0, [4]string{lacks, lacks, lacks, other}, ""},
		{
			"restarted", chats,
			map[string][2]float64{"vllm:request_queue_time_seconds_sum": {5, 1}, "vllm:request_queue_time_seconds_count": {5, 1}},
			0, 0, 0, 0,
			[4]string{"s: the server was started again", na, na, other},
			"",
		},
		// timings of 1 and 2 µs, and of 3 µs; llama.cpp has no time of its queue.
		{"llama.cpp's timings", timings, nil, 0, 1500, 3000, 0, [4]string{na, "", "", other}, "times in the answers"},
		{
			"llama.cpp's counters", chats,
			map[string][2]float64{"llamacpp:prompt_seconds_total": {1, 2}},
			0, 0, 0, 0,
			[4]string{na, "llamacpp:prompt_seconds_total is the time of all requests, and the server does not count them", na, other},
			"",
		},
		{
			"Triton", triton,
			map[string][2]float64{"nv_inference_queue_duration_us": {1, 3}, "nv_inference_request_success": {0, 4}},
			500, 0, 0, 0,
			[4]string{"", "Triton does not tell prefill from decode", "Triton does not tell prefill from decode", other},
			"",
		},
		{
			"a decoupled model", decoupled,
			map[string][2]float64{"nv_inference_queue_duration_us": {1, 3}, "nv_inference_request_success": {0, 4}},
			0, 0, 0, 0,
			[4]string{
				"the model is decoupled: Triton's times end before the stream of responses does", "the model is decoupled: Triton's times end before the stream of responses does",
				"the model is decoupled: Triton's times end before the stream of responses does", other,
			},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := phasesOf(t, tt.run(), tt.values)
			for i, key := range []string{figure.KeyQueueTime, figure.KeyPrefillTime, figure.KeyDecodeTime, figure.KeyOtherTime} {
				want := []float64{tt.queue, tt.prefill, tt.decode, tt.rest}[i]
				if f := got[key]; f.Why != tt.why[i] || math.Abs(f.Value-want) > 1e-4*want {
					t.Errorf("%+v, want %v, %q", f, want, tt.why[i])
				}
			}
			if from := got[figure.KeyPrefillTime].From; from != tt.from {
				t.Errorf("from %q, want %q", from, tt.from)
			}
		})
	}
}
