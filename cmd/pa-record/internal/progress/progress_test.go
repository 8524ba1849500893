package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// snapshots of runs, for all kinds of lines.
var snapshots = map[string]recorder.Progress{
	"counted": {
		Levels: 1, Load: load.Concurrency{N: 8}, Failed: 3, Done: 104, Target: 200, InFlight: 8, Elapsed: 13 * time.Second,
		Fraction: 0.52, Left: 12 * time.Second, TTFT: 45_240 * time.Microsecond, TokensPerSecond: 412.3,
	},
	"windows": {
		Index: 1, Levels: 4, Load: load.Concurrency{N: 64}, Done: 5000, InFlight: 64, Elapsed: 75 * time.Second,
		Fraction: 0.25, AtMost: true, Left: 225 * time.Second, TTFT: 1_240 * time.Millisecond, TokensPerSecond: 123_456,
	},
	"warm-up":  {Levels: 1, Load: load.Concurrency{N: 2}, Warmup: true, Done: 3, Target: 20, InFlight: 2, Elapsed: time.Second, Fraction: 0.15},
	"at first": {Levels: 1, Load: load.Concurrency{N: 1}, InFlight: 1, Target: 9},
	"no end":   {Levels: 1, Load: load.Concurrency{N: 1}, Done: 7, InFlight: 1, Elapsed: 2 * time.Hour, TTFT: 1_234 * time.Microsecond},
	"whole":    {Levels: 1, Load: load.Concurrency{N: 1}, Done: 7, InFlight: 1, Elapsed: time.Minute, E2EL: 12_345 * time.Microsecond},
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
		if got := plainLine(snapshots[name], runindex.Index{}); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
		if got, want := plainLine(snapshots[name], runindex.Index{Index: 2, Of: 3}), "run 2 of 3, "+want; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestRedrawnLine(t *testing.T) {
	for _, tt := range []struct {
		name    string
		columns int
		of      runindex.Index
		want    string
	}{
		{"counted", 140, runindex.Index{}, "concurrency 8  [###############---------------]  104/200  3 failed  8 in flight  TTFT 45 ms  412 tok/s  12 s left"},
		{"counted", 100, runindex.Index{}, "concurrency 8  [########--------]  104/200  3 failed  8 in flight  TTFT 45 ms  412 tok/s  12 s left"},
		{"counted", 80, runindex.Index{}, "concurrency 8  [####-----]  104/200  3 failed  TTFT 45 ms  412 tok/s  12 s left"},
		{"counted", 79, runindex.Index{}, "concurrency 8  [####----]  104/200  3 failed  TTFT 45 ms  412 tok/s  12 s left"},
		{"counted", 60, runindex.Index{}, "concurrency 8  [######------]  104/200  3 failed  12 s left"},
		{"counted", 40, runindex.Index{}, "concurrency 8  104/200  3 failed"},
		{"counted", 14, runindex.Index{}, "concurrency 8"},
		{"counted", 8, runindex.Index{}, "concurr"},
		{"counted", 0, runindex.Index{}, ""},
		{"windows", 80, runindex.Index{}, "concurrency 64 (2/4)  [###---------]  5000 done  TTFT 1.2 s  at most 3m45s left"},
		{"warm-up", 100, runindex.Index{}, "concurrency 2 warm-up  [####--------------------------]  3/20  2 in flight"},
		{"at first", 100, runindex.Index{}, "concurrency 1  [------------------------------]  0/9  1 in flight"},
		{"counted", 100, runindex.Index{Index: 1, Of: 1}, "concurrency 8  [########--------]  104/200  3 failed  8 in flight  TTFT 45 ms  412 tok/s  12 s left"},
		{"counted", 140, runindex.Index{Index: 2, Of: 3}, "run 2/3  concurrency 8  [###############---------------]  104/200  3 failed  8 in flight  TTFT 45 ms  412 tok/s  12 s left"},
		{"counted", 80, runindex.Index{Index: 2, Of: 3}, "run 2/3  concurrency 8  [#####------]  104/200  3 failed  TTFT 45 ms  12 s left"},
		{"counted", 60, runindex.Index{Index: 2, Of: 3}, "concurrency 8  [######------]  104/200  3 failed  12 s left"},
		{"no end", 100, runindex.Index{}, "concurrency 1  7 done  1 in flight  TTFT 1.23 ms"},
	} {
		got := redrawnLine(snapshots[tt.name], tt.of, tt.columns, false)
		if got != tt.want {
			t.Errorf("%s in %d columns:\ngot  %s\nwant %s", tt.name, tt.columns, got, tt.want)
		}
	}
	for name, s := range snapshots {
		for columns := range 200 {
			if got := redrawnLine(s, runindex.Index{Index: 12, Of: 345}, columns, false); len(got) >= max(columns, 1) {
				t.Errorf("%s: %d characters in %d columns", name, len(got), columns)
			}
		}
	}
	s := snapshots["counted"]
	if got := redrawnLine(s, runindex.Index{}, 140, true); strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(got) != redrawnLine(s, runindex.Index{}, 140, false) || !strings.Contains(got, "\x1b[31m3 failed\x1b[0m") {
		t.Errorf("in color: %q", got)
	}
}

// What is written, with a clock of our own: on a terminal each snapshot in place
// of the previous snapshot, else a line every ten seconds.
func TestProgressWrites(t *testing.T) {
	getenv := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	wide := func() int { return 60 }
	line := "concurrency 8  [######------]  104/200  \x1b[31m3 failed\x1b[0m  12 s left"
	plain := "pa-record: " + plainLine(snapshots["counted"], runindex.Index{}) + "\n"
	for _, tt := range []struct {
		name    string
		getenv  func(string) string
		columns func() int
		want    string // of snapshots after 0, 4, 10, 13, 24 s, and the end
	}{
		{"terminal", getenv(nil), wide, strings.Repeat("\r\x1b[K"+line, 5) + "\r\x1b[K"},
		{"no color", getenv(map[string]string{"NO_COLOR": "1"}), wide, strings.Repeat("\r\x1b[K"+strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(line), 5) + "\r\x1b[K"},
		{"no terminal", getenv(nil), nil, plain + plain},
		{"a simple terminal", getenv(map[string]string{"TERM": "dumb"}), wide, plain + plain},
	} {
		var out strings.Builder
		p := New(&out, runindex.Index{}, tt.getenv, tt.columns)
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
