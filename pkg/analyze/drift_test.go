package analyze

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// The first tenth of n requests has this latency to the first token and to the
// end, the others alternate around 100 and 200 ms.
func TestDrift(t *testing.T) {
	const none = ""
	for _, tt := range []struct {
		name        string
		n           int
		first, last float64 // ms
		want        string
	}{
		{"slow at first", 100, 500, 600, "the first tenth of the requests differs from the rest: median TTFT 500.00 ms, then 100.00 ms; --trim-start 10% or --steady-state"},
		{"fast at first", 100, 50, 200, "median TTFT 50.00 ms, then 100.00 ms"},
		{"the whole slow, the first token not", 100, 100, 600, "median E2EL 600.00 ms, then 200.00 ms"},
		{"too few", 99, 500, 600, none},
		{"by less than a fifth", 100, 119, 219, none},
		{"by more than a fifth", 100, 121, 221, "median TTFT 121.00 ms"},
		{"no different", 1000, 100, 200, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r []export.Request
			for i := range tt.n {
				ttft, e2el := 100+float64(i%3-1), 200+float64(i%3-1)
				if i < tt.n/10 {
					ttft, e2el = tt.first, tt.last
				}
				start := float64(i)
				r = append(r, sent(start, start+ttft/1e3, start+e2el/1e3))
			}
			for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 { // the order of the file does not matter
				r[i], r[j] = r[j], r[i]
			}
			got := warningTexts(analyzed(t, reader("", r), Config{}).Experiments[0].Warnings)
			if strings.Contains(got, "differs") != (tt.want != none) || !strings.Contains(got, tt.want) {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
}

// Chance is not taken for drift: of ten values eight on one side are not
// enough, nine are not either.
func TestDriftChance(t *testing.T) {
	noAdvice := func([]timed) string { return "" }
	for above := range 11 {
		x := make([]timed, 100)
		for i := range x {
			x[i] = timed{start: uint64(i), ttft: 100 + int64(i%2), e2el: noLatency}
			if i < 10 {
				x[i].ttft = 10
				if i < above {
					x[i].ttft = 1000
				}
			}
		}
		if got, want := drift(x, noAdvice) != nil, above == 0 || above == 10; got != want {
			t.Errorf("%d of 10 above: drift %v, want %v", above, got, want)
		}
	}
	if err := drift(make([]timed, 1000), noAdvice); err != nil {
		t.Errorf("all 0: %v", err)
	}
	x := make([]timed, 1000)
	for i := range x {
		x[i] = timed{ttft: noLatency, e2el: noLatency}
	}
	if err := drift(x, noAdvice); err != nil {
		t.Errorf("no latencies: %v", err)
	}
}

// The warning advises only flags that do not refuse the level.
func TestLeaveStartOut(t *testing.T) {
	t.Parallel()
	atOnce := func(n int) []timed { // n requests in flight all the time
		var x []timed
		for i := range 20 * n {
			x = append(x, timed{start: uint64(100 * (i / n)), ttft: noLatency, e2el: 100})
		}
		return x
	}
	part := func(how string, from uint64) *Selected {
		return &Selected{How: how, Span: Span{from, 100}, Level: Span{0, 100}}
	}
	const trim, both, later = "--trim-start 10% leaves the start out", "--trim-start 10% or --steady-state leaves the start out", "select a later part"
	for _, tt := range []struct {
		name, mode, value string
		sel               *Selected
		x                 []timed
		want              string
	}{
		{"all users at work", "concurrency", "8", nil, atOnce(8), both},
		{"a user of 8 too few", "concurrency", "8", nil, atOnce(7), trim},
		{"a user of 40 too few", "concurrency", "40", nil, atOnce(39), both},
		{"a rate", "request_rate", "8", nil, atOnce(8), trim},
		{"a schedule", "custom_intervals", "", nil, atOnce(8), trim},
		{"a window", "concurrency", "8", part("window", 10), atOnce(8), later},
		{"the steady state", "concurrency", "8", part("steady_state", 10), atOnce(8), later},
		{"the start trimmed", "concurrency", "8", part("trim", 10), atOnce(8), later},
		{"the end trimmed", "concurrency", "8", part("trim", 0), atOnce(8), trim},
		{"only without pauses", "concurrency", "8", part("", 0), atOnce(8), later},
	} {
		if got := leaveStartOut(&export.Experiment{Mode: tt.mode, Value: tt.value}, tt.sel, tt.x); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
