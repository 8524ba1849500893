package analyze

import (
	"math"
	"math/rand/v2"
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
		{"slow at first", 100, 500, 600, "the first tenth of the requests differs from the rest: median TTFT 500.00 ms, then 100.00 ms; --trim-start 10% leaves"},
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
		x := make([]requestLatencies, 100)
		for i := range x {
			x[i] = requestLatencies{start: uint64(i), ttft: 100 + int64(i%2), e2el: export.Missing}
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
	if err := drift(make([]requestLatencies, 1000)); err != nil {
		t.Errorf("all 0: %v", err)
	}
	x := make([]requestLatencies, 1000)
	for i := range x {
		x[i] = requestLatencies{ttft: export.Missing, e2el: export.Missing}
	}
	if err := drift(x); err != nil {
		t.Errorf("no latencies: %v", err)
	}
}

// latenciesOf returns requests whose TTFT are 100 ms times the values; n requests a second.
func latenciesOf(values []float64) (r []export.Request) {
	for i, v := range values {
		start := float64(i) / 10
		r = append(r, sent(start, start+v/10, start+v/10+0.1))
	}
	return r
}

// Few slow requests at the start and a drift are reasons of their own, which no report warns of.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	const none = ""
	for _, tt := range []struct {
		name   string
		n      int
		factor func(i int) float64
		want   string
	}{
		{"steady", 1000, func(int) float64 { return 1 }, none},
		{"few requests, steady", 40, func(int) float64 { return 1 }, none},
		{"the first of 40", 40, func(i int) float64 { return [...]float64{3, 1}[min(1, i)] }, "the first request took 3."},
		{"20 of 1000", 1000, func(i int) float64 { return [...]float64{5, 1}[min(1, i/20)] }, "the first 20 requests took 5."},
		{"the first by less than a fifth", 1000, func(i int) float64 { return [...]float64{1.15, 1}[min(1, i/20)] }, none},
		{"drift of 30 %", 1000, func(i int) float64 { return 1 + 0.3*float64(i)/1000 }, "TTFT drifts: it changes by +"},
		{"faster by 30 %", 1000, func(i int) float64 { return 1 - 0.3*float64(i)/1000 }, "TTFT drifts: it changes by -"},
		{"the last 20", 1000, func(i int) float64 { return [...]float64{1, 5}[i/980] }, "the last 20 requests took 5."},
		{"the last 20, faster", 1000, func(i int) float64 { return [...]float64{1, 0.2}[i/980] }, none},
		{"drift of 5 %", 1000, func(i int) float64 { return 1 + 0.05*float64(i)/1000 }, none},
		{"the first tenth, which has a warning", 200, func(i int) float64 { return [...]float64{50, 1}[min(1, i/15)] }, none},
	} {
		rng := rand.New(rand.NewPCG(3, uint64(tt.n)))
		values := make([]float64, tt.n)
		for i := range values {
			values[i] = math.Exp(0.05*rng.NormFloat64()) * tt.factor(i)
		}
		x := analyzed(t, reader("", latenciesOf(values)), Config{Settling: true}).Experiments[0]
		var got []string
		for _, u := range x.Unsettled {
			got = append(got, u.Error())
		}
		switch {
		case tt.want == none && got != nil:
			t.Errorf("%s: %q, want nothing", tt.name, got)
		case tt.want != none && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if w := warningTexts(x.Warnings); strings.Contains(w, "took") || strings.Contains(w, "drifts") {
			t.Errorf("%s: warnings %q", tt.name, w)
		}
		if analyzed(t, reader("", latenciesOf(values)), Config{}).Experiments[0].Unsettled != nil {
			t.Errorf("%s: not asked for", tt.name)
		}
	}
}

// The first tenth of a steady run seems to differ in less than 1 % of runs, also if the requests depend on
// each other, which was 30 % when the tenth counted as independent.
func TestDriftOfDependentRequests(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	const runs = 150
	found := 0
	for range runs {
		x, z := make([]requestLatencies, 1000), rng.NormFloat64()
		for i := range x {
			x[i] = requestLatencies{start: uint64(i), ttft: int64(1e6 * math.Exp(0.5*z)), e2el: export.Missing}
			z = 0.9*z + math.Sqrt(1-0.81)*rng.NormFloat64()
		}
		if drift(x) != nil {
			found++
		}
	}
	if found > 4 {
		t.Errorf("%d of %d steady runs differ in their first tenth", found, runs)
	}
}
