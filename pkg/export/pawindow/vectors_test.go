package pawindow

import (
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// answered is a request with its responses' times; the last is null or not.
func answered(startNS uint64, null bool, recvNS ...uint64) export.Request {
	r := export.Request{StartNS: startNS}
	for i, ns := range recvNS {
		text := export.Text("x")
		if null && i == len(recvNS)-1 {
			text = export.Text("data: [DONE]\n\n")
		}
		r.Responses = append(r.Responses, export.Response{RecvNS: ns, Outputs: export.Fields{{Name: "response", Value: text}}})
	}
	return r
}

// The values of perf_analyzer's own unit tests of what counts in a window
// (test_inference_profiler.cc).
func TestPerfAnalyzersVectors(t *testing.T) {
	for _, tt := range []struct {
		name      string
		window    Window
		requests  []export.Request
		latencies []time.Duration // of the requests that count
		responses int
	}{
		{
			"six requests around a window",
			Window{4, 17},
			[]export.Request{
				answered(1, false, 2), answered(3, false, 5), answered(6, false, 9), answered(10, false, 14),
				answered(15, false, 20), answered(21, false, 27),
			},
			[]time.Duration{2, 3, 4},
			3,
		},
		{"five data responses", Window{1, 8}, []export.Request{answered(1, false, 2, 3), answered(4, false, 5, 6, 7)}, []time.Duration{2, 3}, 5},
		{"the last is null", Window{1, 8}, []export.Request{answered(1, false, 2, 3), answered(4, true, 5, 6, 7)}, []time.Duration{2, 2}, 4},
		{"nothing but a null one", Window{1, 8}, []export.Request{answered(1, false, 2, 3), answered(4, true, 5)}, []time.Duration{2}, 2},
	} {
		var stats Stats
		var want Stats
		for _, l := range tt.latencies {
			want.Add(l, 0)
		}
		for i := range tt.requests {
			r := &tt.requests[i]
			end, responses, ok := End(r, NullLast(r, true))
			if ok && Find([]Window{tt.window}, end) == 0 {
				stats.Add(time.Duration(end-r.StartNS), responses)
			}
		}
		got, sum := stats.Summary([]int{1, 50, 99}), want.Summary([]int{1, 50, 99})
		if got.Requests != len(tt.latencies) || got.Responses != tt.responses || got.Mean != sum.Mean {
			t.Errorf("%s: %d requests, %d responses, mean %v; want %d, %d, %v", tt.name, got.Requests, got.Responses, got.Mean, len(tt.latencies), tt.responses, sum.Mean)
		}
		for _, pct := range []int{1, 50, 99} {
			g, _ := got.Percentile(pct)
			if w, _ := sum.Percentile(pct); g != w {
				t.Errorf("%s: p%d %v, want %v", tt.name, pct, g, w)
			}
		}
	}
}
