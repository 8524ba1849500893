package diff

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/export"
)

// watched is a run of a server at an address whose requests take that long, with
// a GPU of its host.
func watched(t *testing.T, name, host string, seed uint64, queue, joules float64) *Run {
	return read(t, name, recipe{seed: seed, requests: 40, tokens: 4, ttft: 30, itl: 20, change: func(m *memory) {
		source := "http://" + host + ":8000/metrics"
		series := func(name string, labels ...export.Label) *export.Series {
			return &export.Series{Source: source, Name: name, Labels: labels}
		}
		model, gpu := export.Label{Name: "model_name", Value: "tiny"}, export.Label{Name: "gpu_uuid", Value: "GPU-" + host}
		sum, count := series("vllm:request_queue_time_seconds_sum", model), series("vllm:request_queue_time_seconds_count", model)
		energy := series("nv_energy_consumption", gpu)
		m.run.Meta.Telemetry = []export.TelemetrySource{{Source: source, Host: host}}
		first, last := m.requests[0][0].StartNS, m.requests[0][0].StartNS+1e10
		m.run.Experiments[0].WindowBoundaries = []uint64{first, last}
		for i, ns := range []uint64{first, last} {
			n := float64(i)
			m.scrapes = append(m.scrapes, export.Scrape{Source: source, StartNS: ns, EndNS: ns, Samples: []export.Sample{
				{Series: sum, Value: 40 * n * queue}, {Series: count, Value: 40 * n}, {Series: energy, Value: n * joules},
			}})
		}
	}})
}

// rowsOf are the figures of servers of the first level, for comparison.
func rowsOf(res *Result) string {
	var b strings.Builder
	for _, r := range res.Levels[0].Server {
		interval := "none"
		if x := r.Interval(confidence); !r.NA.Missing() {
			interval = fmt.Sprintf("%.3f to %.3f", x.Low, x.High)
		}
		fmt.Fprintf(&b, "%s of %s: %.6g %.6g change %.3f interval %s\n", r.Name, r.of(), r.Old.Value, r.New.Value, r.Change, interval)
	}
	return b.String()
}

// Figures of servers are compared: of one run a side values alone, of several with
// the interval of runs; they are no part of the family.
func TestServerRows(t *testing.T) {
	old, slower := watched(t, "old.json", "h1", 1, 0.010, 1000), watched(t, "new.json", "h2", 2, 0.012, 900)
	res := Compare([]*Run{old}, []*Run{slower}, Options{})
	const single = "queue of tiny http://h1:8000/metrics → tiny http://h2:8000/metrics: 1e+07 1.2e+07 change 0.200 interval none\n" +
		"GPU energy of GPU-h1 h1 → GPU-h2 h2: 1000 900 change -0.100 interval none\n"
	if got := rowsOf(res); got != single {
		t.Errorf("one run a side:\n%s, want:\n%s", got, single)
	}
	plain := Compare([]*Run{read(t, "old.json", recipe{seed: 1, requests: 40, tokens: 4, ttft: 30, itl: 20})}, []*Run{read(t, "new.json", recipe{seed: 2, requests: 40, tokens: 4, ttft: 30, itl: 20})}, Options{})
	if res.Family != plain.Family {
		t.Errorf("a family of %d, without figures of servers %d", res.Family, plain.Family)
	}

	// Two sources on one side: figures go by what they are of.
	more := watched(t, "new.json", "h2", 2, 0.012, 900)
	extra := more.Levels[0].Server[0]
	extra.Of = "tiny http://h1:8000/metrics"
	more.Levels[0].Server = append(more.Levels[0].Server, extra)
	res = Compare([]*Run{old}, []*Run{more}, Options{})
	if got := rowsOf(res); !strings.HasPrefix(got, "queue of tiny http://h1:8000/metrics: 1e+07 1.2e+07 change 0.200") || !strings.Contains(got, "queue of tiny http://h2:8000/metrics: NaN 1.2e+07 change NaN") {
		t.Errorf("two sources:\n%s", got)
	}

	// Several runs: by hand, the logarithms of queue times are apart by ln 1.2 with
	// values of ± 1 % and none about the middle one.
	var older, newer []*Run
	for i, f := range []float64{0.99, 1, 1.01} {
		older = append(older, watched(t, fmt.Sprintf("old%d.json", i), "h1", uint64(10+i), 0.010*f, 1000))
		newer = append(newer, watched(t, fmt.Sprintf("new%d.json", i), "h1", uint64(20+i), 0.012*f, 1000))
	}
	res = Compare(older, newer, Options{})
	r := res.Levels[0].Server[0]
	// Welch: s = 0.0100005 of both sides, standard error s·√(2/3), 4 degrees of
	// freedom, t = 2.776445: ln 1.2 ± 0.022671.
	low, high := 1.2*math.Exp(-0.022671)-1, 1.2*math.Exp(0.022671)-1
	if x := r.Interval(confidence); math.Abs(x.Low-low) > 1e-5 || math.Abs(x.High-high) > 1e-5 || r.OldOf != r.NewOf {
		t.Errorf("interval %.6f to %.6f, want %.6f to %.6f", x.Low, x.High, low, high)
	}
	if e := res.Levels[0].Server[1]; e.NA.Missing() || e.Change != 0 || e.P != 1 {
		t.Errorf("energies that are all the same: %+v", e.Comparison)
	}
}

// Every format has them, and the schema knows them.
func TestServerFormats(t *testing.T) {
	res := Compare([]*Run{watched(t, "old.json", "h1", 1, 0.010, 1000)}, []*Run{watched(t, "new.json", "h1", 2, 0.012, 900)}, Options{})
	for ext, want := range map[string][]string{
		"txt":  {"  server metric                                old        new   change  95% interval  n\n  queue of tiny http://h1:8000/metrics    10.00 ms   12.00 ms  +20.00%           n/a  1\n", "n/a: figures of servers: one run a side does not tell how they vary"},
		"md":   {"| server metric | old | new | change | 95% interval | n |", "| GPU energy of GPU-h1 h1 | 1000 J | 900.0 J | -10.00% | n/a | 1 |"},
		"csv":  {"server,concurrency 4,GPU energy of GPU-h1 h1,J,1000,900,1,1,-0.0"},
		"json": {`"name": "GPU energy"`, `"old_of": "GPU-h1 h1"`},
	} {
		var b bytes.Buffer
		if err := writers(res)[ext](&b); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s has no %q:\n%s", ext, w, b.String())
			}
		}
		if ext == "json" {
			if err := schematest.Open(t, "diff.schema.json").Check(t, b.Bytes()); err != nil {
				t.Error(err)
			}
		}
	}
}
