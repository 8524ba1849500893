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
		if got, want := drift(x) != nil, above == 0 || above == 10; got != want {
			t.Errorf("%d of 10 above: drift %v, want %v", above, got, want)
		}
	}
	if err := drift(make([]timed, 1000)); err != nil {
		t.Errorf("all 0: %v", err)
	}
	x := make([]timed, 1000)
	for i := range x {
		x[i] = timed{ttft: noLatency, e2el: noLatency}
	}
	if err := drift(x); err != nil {
		t.Errorf("no latencies: %v", err)
	}
}
