package analyze

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

func TestSteadyState(t *testing.T) {
	ok := func(start, end float64) export.Request { return sent(start, end) }
	warm := func(start, end float64) export.Request {
		return as(sent(start, end), export.StatusOK, export.PhaseWarmup, 0)
	}
	late := func(start, end float64) export.Request {
		return as(sent(start, end), export.StatusOK, export.PhaseCooldown, 0)
	}
	// twenty slots start at 0, 0.1, … 1.9 s and end at 12, 12.1, … 13.9 s.
	var twenty []export.Request
	for i := range 20 {
		twenty = append(twenty, ok(float64(i)/10, 12+float64(i)/10))
	}
	for _, tt := range []struct {
		name      string
		value     string // concurrency
		r         []export.Request
		bounds    []uint64
		from, to  float64
		ok        int // requests that started in it
		peak      int
		threshold int
		plateau   float64
		problem   string
		warn      string
	}{
		{
			name: "two slots, one after the other", value: "2",
			r:    []export.Request{ok(0, 10), ok(1, 20), ok(10, 30), ok(20, 25)},
			from: 1, to: 25, ok: 3, peak: 2, threshold: 2, plateau: 1,
		},
		{
			name: "19 of 20 are enough", value: "20", r: twenty,
			from: 1.8, to: 12.1, ok: 2, peak: 20, threshold: 19, plateau: 1,
		},
		{
			name: "a slot that sends again later leaves the plateau", value: "2",
			r:    []export.Request{ok(0, 20), ok(0, 8), ok(10, 20)},
			from: 0, to: 20, ok: 3, peak: 2, threshold: 2, plateau: 0.9,
		},
		{
			name: "a long pause is warned about", value: "2",
			r:    []export.Request{ok(0, 20), ok(0, 5), ok(10, 20)},
			from: 0, to: 20, ok: 3, peak: 2, threshold: 2, plateau: 0.75,
			warn: "2 or more requests were in flight for only 75.0% of the steady state",
		},
		{
			name: "warm-up requests hold slots", value: "2",
			r:    []export.Request{warm(-5, 3), ok(0, 20), ok(3, 20)},
			from: 0, to: 20, ok: 2, peak: 2, threshold: 2, plateau: 1,
		},
		{
			name: "warm-up alone is no steady state", value: "2",
			r:       []export.Request{warm(-5, -1), warm(-5, -1), ok(0, 20)},
			problem: "never in a steady state: at most 1 of 2 requests in flight, and 2 are needed (95%)",
		},
		{
			name: "late requests hold slots, to the end of the level", value: "2", bounds: []uint64{sec(0), sec(20)},
			r:    []export.Request{ok(0, 10), ok(0, 19), late(10, 25), late(19, 25)},
			from: 0, to: 20, ok: 2, peak: 2, threshold: 2, plateau: 1,
		},
		{
			name: "failed requests hold slots", value: "2",
			r:    []export.Request{as(sent(0), export.StatusTimeout, export.PhaseMeasured, 20), ok(0, 20)},
			from: 0, to: 20, ok: 1, peak: 2, threshold: 2, plateau: 1,
		},
		{
			name: "short", value: "1", r: []export.Request{ok(0, 2), ok(2, 9)},
			from: 0, to: 9, ok: 2, peak: 1, threshold: 1, plateau: 1,
			warn: "the steady state is short: 9s of 9s",
		},
		{
			name: "less than a tenth", value: "2", r: []export.Request{ok(0, 200), ok(20, 35)},
			from: 20, to: 35, ok: 1, peak: 2, threshold: 2, plateau: 1,
			warn: "the steady state is short: 15s of 200s",
		},
		{name: "never reached", value: "3", r: []export.Request{ok(0, 9), ok(1, 9)}, problem: "at most 2 of 3 requests in flight, and 3 are needed"},
		{name: "requests of no duration", value: "1", r: []export.Request{ok(0, 0), ok(1, 1)}, problem: "at most 0 of 1"},
		{name: "no number", value: "many", r: []export.Request{ok(0, 9)}, problem: "concurrency many holds no number of requests in flight"},
		{name: "perf_analyzer's placeholder", value: "1", bounds: []uint64{0, 1<<64 - 1}, r: []export.Request{ok(0, 9)}, problem: "no steady state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reader("", tt.r)
			r.Header.Experiments[0].Value, r.Header.Experiments[0].WindowBoundaries = tt.value, tt.bounds
			e := &analyzed(t, r, Config{Selection: Selection{SteadyState: true}}).Experiments[0]
			if tt.problem != "" {
				if e.Problem == nil || !strings.Contains(e.Problem.Error(), tt.problem) {
					t.Errorf("problem %v, want %q", e.Problem, tt.problem)
				}
				return
			}
			if e.Problem != nil {
				t.Fatal(e.Problem)
			}
			s := e.Selected
			if s.Span != (figure.Span{FromNS: sec(tt.from), ToNS: sec(tt.to)}) || e.OK != tt.ok {
				t.Errorf("%v, %d requests, want %v and %d", s.Span, e.OK, figure.Span{FromNS: sec(tt.from), ToNS: sec(tt.to)}, tt.ok)
			}
			if x := s.Steady; x.Peak != tt.peak || x.Threshold != tt.threshold || !close12(x.AtPlateau, tt.plateau) {
				t.Errorf("%+v, want peak %d, threshold %d, plateau %v", x, tt.peak, tt.threshold, tt.plateau)
			}
			got := warningTexts(e.Warnings)
			if strings.Contains(got, "steady state") != (tt.warn != "") || !strings.Contains(got, tt.warn) {
				t.Errorf("warnings %q, want %q", got, tt.warn)
			}
		})
	}
	rate := reader("", []export.Request{ok(0, 9)})
	rate.Header.Experiments[0].Mode = export.ModeRequestRate
	if e := analyzed(t, rate, Config{Selection: Selection{SteadyState: true}}).Experiments[0]; e.Problem == nil || !strings.Contains(e.Problem.Error(), "request rate 1 holds no number") {
		t.Errorf("of a request rate: %v", e.Problem)
	}
	nameless := reader("", []export.Request{ok(0, 9)})
	nameless.Header.Experiments[0].Mode, nameless.Header.Experiments[0].Value = "", ""
	if e := analyzed(t, nameless, Config{Selection: Selection{SteadyState: true}}).Experiments[0]; e.Problem == nil || !strings.HasPrefix(e.Problem.Error(), "the load is not known, so") {
		t.Errorf("without a load: %v", e.Problem)
	}
}
