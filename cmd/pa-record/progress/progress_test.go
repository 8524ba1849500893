package progress

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

const ms = time.Millisecond

// several is a run among several.
var several = Run{Prefix: "run 2 of 3: ", Short: "run 2/3"}

// snapshots of runs, for all kinds of lines.
var snapshots = map[string]recorder.Progress{
	"counted": {
		Levels: 1, Load: load.Concurrency{N: 8}, Failed: 3, Done: 104, Target: 200, InFlight: 8, Elapsed: 13 * time.Second,
		Fraction: 0.52, Left: 12 * time.Second,
		Recent: window.Recent{
			TTFT: window.Percentiles{P50: 45_240 * time.Microsecond, P99: 80_100 * time.Microsecond},
			ITL:  window.Percentiles{P50: 9_870 * time.Microsecond, P99: 104_200 * time.Microsecond}, TokensPerSecond: 412.3, RequestsPerSecond: 3.217,
		},
	},
	"windows": {
		Index: 1, Levels: 4, Load: load.Concurrency{N: 64}, Done: 5000, InFlight: 64, Elapsed: 75 * time.Second,
		Fraction: 0.25, AtMost: true, Left: 225 * time.Second, ClientLimited: true,
		Recent: window.Recent{TTFT: window.Percentiles{P50: 1_240 * ms, P99: 12_345 * ms}, TokensPerSecond: 123_456, RequestsPerSecond: 1234.5},
	},
	"warm-up":  {Levels: 1, Load: load.Concurrency{N: 2}, Warmup: true, Done: 3, Target: 20, InFlight: 2, Elapsed: time.Second, Fraction: 0.15},
	"at first": {Levels: 1, Load: load.Concurrency{N: 1}, InFlight: 1, Target: 9},
	"no end": {
		Levels: 1, Load: load.Concurrency{N: 1}, Done: 7, InFlight: 1, Elapsed: 2 * time.Hour,
		Recent: window.Recent{TTFT: window.Percentiles{P50: 1_234 * time.Microsecond, P99: 1_234 * time.Microsecond}, RequestsPerSecond: 0.2},
	},
	"whole": {
		Levels: 1, Load: load.Concurrency{N: 1}, Done: 7, InFlight: 1, Elapsed: time.Minute,
		Recent: window.Recent{E2EL: window.Percentiles{P50: 12_345 * time.Microsecond, P99: 99_950 * time.Microsecond}, RequestsPerSecond: 80.97},
	},
}

func TestPlainLine(t *testing.T) {
	for name, want := range map[string]string{
		"counted":  "concurrency 8: 104 of 200 done, 3 failed, 8 in flight, TTFT 45 ms, 412 tok/s, 12 s left, 13 s so far",
		"windows":  "concurrency 64 (level 2 of 4): 5000 done, 64 in flight, TTFT 1.2 s, 123.5k tok/s, at most 3m45s left, 1m15s so far",
		"warm-up":  "concurrency 2: warming up: 3 of 20 done, 2 in flight, 1 s so far",
		"at first": "concurrency 1: 0 of 9 done, 1 in flight, 0 s so far",
		"no end":   "concurrency 1: 7 done, 1 in flight, TTFT 1.23 ms, 2h00m so far",
		"whole":    "concurrency 1: 7 done, 1 in flight, E2EL 12 ms, 1m00s so far",
	} {
		if got := plainLine(snapshots[name], Run{}); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
		if got, want := plainLine(snapshots[name], several), "run 2 of 3: "+want; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestRedrawnLine(t *testing.T) {
	for _, tt := range []struct {
		name    string
		columns int
		of      Run
		want    string
	}{
		{"counted", 140, Run{}, "concurrency 8  [###############---------------]  104/200  3 failed  8 in flight  12 s left"},
		{"counted", 80, Run{}, "concurrency 8  [#########----------]  104/200  3 failed  8 in flight  12 s left"},
		{"counted", 69, Run{}, "concurrency 8  [####----]  104/200  3 failed  8 in flight  12 s left"},
		{"counted", 68, Run{}, "concurrency 8  [##########----------]  104/200  3 failed  12 s left"},
		{"counted", 60, Run{}, "concurrency 8  [######------]  104/200  3 failed  12 s left"},
		{"counted", 40, Run{}, "concurrency 8  104/200  3 failed"},
		{"counted", 14, Run{}, "concurrency 8"},
		{"counted", 8, Run{}, "concurr"},
		{"counted", 0, Run{}, ""},
		{"windows", 80, Run{}, "concurrency 64 (2/4)  [##--------]  5000 done  64 in flight  at most 3m45s left"},
		{"warm-up", 100, Run{}, "concurrency 2 warm-up  [####--------------------------]  3/20  2 in flight"},
		{"at first", 100, Run{}, "concurrency 1  [------------------------------]  0/9  1 in flight"},
		{"counted", 140, Run{}, "concurrency 8  [###############---------------]  104/200  3 failed  8 in flight  12 s left"},
		{"counted", 140, several, "run 2/3  concurrency 8  [###############---------------]  104/200  3 failed  8 in flight  12 s left"},
		{"counted", 60, several, "concurrency 8  [######------]  104/200  3 failed  12 s left"},
		{"no end", 100, Run{}, "concurrency 1  7 done  1 in flight"},
	} {
		got := redrawnLine(snapshots[tt.name], tt.of, tt.columns, displayStyle{})
		if got != tt.want {
			t.Errorf("%s in %d columns:\ngot  %s\nwant %s", tt.name, tt.columns, got, tt.want)
		}
	}
	for name, s := range snapshots {
		for columns := range 200 {
			if got := redrawnLine(s, Run{"run 12 of 345, ", "run 12/345"}, columns, displayStyle{}); len(got) >= max(columns, 1) {
				t.Errorf("%s: %d characters in %d columns", name, len(got), columns)
			}
			for n := range 40 {
				if got := recentLine(s, make([]float64, n), columns, displayStyle{blocks: true}); utf8.RuneCountInString(got) > max(columns-3, 0) {
					t.Errorf("%s: the figures have %d characters in %d columns: %s", name, utf8.RuneCountInString(got), columns, got)
				}
			}
		}
	}
}

// The figures of the last seconds, in wide and narrow terminals.
func TestRecentLine(t *testing.T) {
	rates := []float64{0, 100, 200, 300, 400, 400, 200}
	for _, tt := range []struct {
		name    string
		columns int
		style   displayStyle
		want    string
	}{
		{"counted", 140, displayStyle{blocks: true}, "last 5 s:  TTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms  412 tok/s  ▁▃▅▇██▅  3.22 req/s"},
		{"counted", 140, displayStyle{}, "last 5 s:  TTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms  412 tok/s  3.22 req/s"},
		{"counted", 97, displayStyle{blocks: true}, "last 5 s:  TTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms  412 tok/s  ▁▃▅▇██▅  3.22 req/s"},
		{"counted", 96, displayStyle{blocks: true}, "last 5 s:  TTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms  412 tok/s  3.22 req/s"},
		{"counted", 80, displayStyle{blocks: true}, "last 5 s:  TTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms  412 tok/s"},
		{"counted", 70, displayStyle{}, "TTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms  412 tok/s"},
		{"counted", 40, displayStyle{}, "TTFT p50 45.2 p99 80.1 ms"},
		{"counted", 10, displayStyle{}, "TTFT p5"},
		{"windows", 100, displayStyle{color: true}, "last 5 s:  TTFT p50 1240 p99 12345 ms  123.5k tok/s  1234 req/s  \x1b[33mclient may be the limit\x1b[0m"},
		{"windows", 50, displayStyle{color: true}, "\x1b[33mclient may be the limit\x1b[0m"},
		{"windows", 60, displayStyle{}, "TTFT p50 1240 p99 12345 ms  client may be the limit"},
		{"whole", 100, displayStyle{blocks: true}, "last 5 s:  E2EL p50 12.3 p99 100 ms  81.0 req/s  ▁▃▅▇██▅"},
		{"warm-up", 100, displayStyle{blocks: true}, ""},
	} {
		if got := recentLine(snapshots[tt.name], rates, tt.columns, tt.style); got != tt.want {
			t.Errorf("%s in %d columns:\ngot  %q\nwant %q", tt.name, tt.columns, got, tt.want)
		}
	}
}

// Failures are red, and nothing else of the first line has a color.
func TestRedrawnLineColor(t *testing.T) {
	s := snapshots["counted"]
	want := strings.Replace(redrawnLine(s, Run{}, 140, displayStyle{}), "3 failed", "\x1b[31m3 failed\x1b[0m", 1)
	if got := redrawnLine(s, Run{}, 140, displayStyle{color: true}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A history has a value for each second of the present stage, at most historySeconds.
func TestRateHistory(t *testing.T) {
	var h rateHistory
	add := func(index int, warmup bool, elapsed time.Duration, tokens float64) {
		h.add(recorder.Progress{Index: index, Warmup: warmup, Elapsed: elapsed, Recent: window.Recent{TTFT: window.Percentiles{P50: 1}, TokensPerSecond: tokens, RequestsPerSecond: 7}})
	}
	add(0, true, 250*ms, 1)
	add(0, true, 1250*ms, 2)
	add(0, false, 1500*ms, 3) // the measurement begins, and its history
	add(0, false, 2250*ms, 4) // within its first second
	add(0, false, 2500*ms, 5)
	add(0, false, 3750*ms, 6)
	if want := []float64{3, 5, 6}; !slices.Equal(h.rates, want) {
		t.Errorf("%v, want %v", h.rates, want)
	}
	for i := range 40 {
		add(1, false, time.Duration(i)*time.Second, float64(i))
	}
	if len(h.rates) != historySeconds || h.rates[0] != 10 || h.rates[historySeconds-1] != 39 {
		t.Errorf("after 40 seconds: %v", h.rates)
	}
	whole := snapshots["whole"]
	if got := throughput(&whole); got != 80.97 {
		t.Errorf("throughput of whole answers: %v, want their rate", got)
	}
}

// Progress on a terminal replaces the previous snapshot. Elsewhere it is a line every ten seconds.
// The clock is the test's own.
func TestProgressWrites(t *testing.T) {
	getenv := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	wide := func() int { return 60 }
	const line = "concurrency 8  [######------]  104/200  \x1b[31m3 failed\x1b[0m  12 s left\nTTFT p50 45.2 p99 80.1 ms  ITL p50 9.87 p99 104 ms"
	const erase = "\r\x1b[K\x1b[A\x1b[K"
	screens := func(line string) string { return strings.Repeat(line+erase, 5) }
	plain := "pa-record: " + plainLine(snapshots["counted"], Run{}) + "\n"
	for _, tt := range []struct {
		name    string
		getenv  func(string) string
		columns func() int
		want    string // of snapshots after 0, 4, 10, 13, 24 s, and the end, which erases
	}{
		{"terminal", getenv(nil), wide, screens(line)},
		{"no color", getenv(map[string]string{"NO_COLOR": "1"}), wide, screens(strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(line))},
		{"no terminal", getenv(nil), nil, plain + plain},
		{"a simple terminal", getenv(map[string]string{"TERM": "dumb"}), wide, plain + plain},
	} {
		var out strings.Builder
		p := New(&out, Run{}, tt.getenv, tt.columns)
		start := time.Unix(1_700_000_000, 0)
		p.last = start
		for _, s := range []time.Duration{0, 4, 10, 13, 24} {
			p.now = func() time.Time { return start.Add(s * time.Second) }
			p.Callback()(snapshots["counted"])
		}
		p.Clear()
		if d := cmp.Diff(tt.want, out.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// The time left is of the level, and where it is known of all levels or runs.
func TestTimeLeftText(t *testing.T) {
	t.Parallel()
	exact := func(seconds float64) recorder.Figure { return recorder.Figure{Value: seconds, Bound: recorder.Exact} }
	for _, tt := range []struct {
		left   time.Duration
		atMost bool
		later  recorder.Figure // levels
		after  recorder.Figure // runs
		run    Run
		want   string
	}{
		{12 * time.Second, false, exact(0), exact(0), Run{}, "12 s left"},
		{12 * time.Second, false, exact(60), exact(0), Run{}, "12 s left (all levels: 1m12s)"},
		{12 * time.Second, true, exact(60), exact(0), Run{}, "at most 12 s left (all levels: at most 1m12s)"},
		{12 * time.Second, false, exact(60).Within(recorder.AtMost), exact(0), Run{}, "12 s left (all levels: at most 1m12s)"},
		{12 * time.Second, false, exact(60), exact(3600), several, "12 s left (all runs: 1h01m)"},
		{12 * time.Second, false, recorder.Figure{}, exact(0), Run{}, "12 s left"},
		{12 * time.Second, false, exact(0), recorder.Figure{}, several, "12 s left"},
		{0, false, exact(60), exact(0), Run{}, ""},
	} {
		var out strings.Builder
		p := New(&out, tt.run, func(string) string { return "" }, nil)
		p.last = time.Time{}
		p.RunsAfter(tt.after)
		p.show(recorder.Progress{Levels: 1, Load: load.Concurrency{N: 1}, Left: tt.left, AtMost: tt.atMost, Later: tt.later})
		_, got, _ := strings.Cut(strings.TrimSuffix(out.String(), ", 0 s so far\n"), "0 in flight")
		if got = strings.TrimPrefix(got, ", "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
	}
}
