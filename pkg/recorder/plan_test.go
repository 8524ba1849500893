package recorder

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// loaded records a search on a server that takes longer the more it is asked: ms
// gives the milliseconds of the answers at a level. It returns the levels.
func loaded(t *testing.T, cfg Config, ms func(level float64) int) (levels []string, w *memWriter, res *Result) {
	t.Helper()
	var takes time.Duration
	plan := cfg.Plan
	cfg.Plan = func(done []Level) (load.Level, bool) {
		next, ok := plan(done)
		switch level := next.(type) {
		case load.Concurrency:
			takes = time.Duration(ms(float64(level.N))) * time.Millisecond
		case load.Rate:
			takes = time.Duration(ms(level.PerSecond)) * time.Millisecond
		}
		return next, ok
	}
	w, res, _, err := record(t, func(uint64) answer { return answer{after: takes, status: export.StatusOK} }, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.experiments {
		value := e.Value
		if e.Meta.OverLatencyLimit {
			value += "!"
		}
		levels = append(levels, value)
	}
	return levels, w, res
}

func concurrency(n int) load.Level { return load.Concurrency{N: n} }
func rate(r float64) load.Level    { return load.Rate{PerSecond: r} }

// counting goes through start, start+step, … up to end; 0 is none.
func counting(start, end, step int) func(int) (load.Level, bool) {
	return func(i int) (load.Level, bool) {
		n := start + i*step
		return concurrency(n), end == 0 || n <= end
	}
}

// Searches on a server that takes 10 ms times the level, reckoned by hand. An
// exclamation mark is for a level that is over the limit.
func TestSearches(t *testing.T) {
	tenfold := func(level float64) int { return int(10 * level) }
	for _, tt := range []struct {
		name  string
		plan  Plan
		limit time.Duration
		want  string
	}{
		{"linear, an end", LinearSearch(counting(1, 4, 1)), 65 * time.Millisecond, "1 2 3 4"},
		{"linear, up to the limit", LinearSearch(counting(1, 20, 1)), 35 * time.Millisecond, "1 2 3 4!"},
		{"linear, at the limit is over", LinearSearch(counting(1, 20, 1)), 30 * time.Millisecond, "1 2 3!"},
		{"linear, no end", LinearSearch(counting(1, 0, 2)), 65 * time.Millisecond, "1 3 5 7!"},
		{"linear, the first is over", LinearSearch(counting(9, 0, 2)), 65 * time.Millisecond, "9!"},

		// (1+16)/2 = 8, (1+8)/2 = 4, (4+8)/2 = 6, (6+8)/2 = 7, and 7 − 6 is a step.
		{"binary", BinarySearch(1, 16, 1, concurrency), 65 * time.Millisecond, "1 16! 8! 4 6 7!"},
		{"binary, at the limit is over", BinarySearch(1, 16, 1, concurrency), 60 * time.Millisecond, "1 16! 8! 4 6! 5"},
		{"binary, the first is over", BinarySearch(7, 16, 1, concurrency), 65 * time.Millisecond, "7!"},
		{"binary, the last is not", BinarySearch(1, 6, 1, concurrency), 65 * time.Millisecond, "1 6"},
		{"binary, a large step", BinarySearch(1, 16, 4, concurrency), 65 * time.Millisecond, "1 16! 8! 4"},
		{"binary, a step that is the range", BinarySearch(1, 16, 15, concurrency), 65 * time.Millisecond, "1 16!"},
		{"binary, neighbours", BinarySearch(6, 7, 1, concurrency), 65 * time.Millisecond, "6 7!"},
		{"binary, one level", BinarySearch(4, 4, 1, concurrency), 65 * time.Millisecond, "4"},

		// 5 is over, 3 and 4 are not, nor is 4.5; 5 − 4.5 is a step.
		{"rates", BinarySearch(1, 9, 0.5, rate), 47 * time.Millisecond, "1.0 9.0! 5.0! 3.0 4.0 4.5"},
		{"rates, a step that does not meet", BinarySearch(2.5, 10, 2, rate), 47 * time.Millisecond, "2.5 10.0! 6.25! 4.375"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			levels, _, _ := loaded(t, Config{Plan: tt.plan, Measure: window.Measure{Mode: window.ByCount, WindowRequests: 20, Stability: 9.99, LatencyLimit: tt.limit}}, tenfold)
			if got := strings.Join(levels, " "); got != tt.want {
				t.Errorf("levels %s, want %s", got, tt.want)
			}
			levels, _, _ = loaded(t, Config{Plan: tt.plan, Measure: window.Measure{Times: 3, LatencyLimit: tt.limit}}, tenfold)
			if got := strings.Join(levels, " "); got != tt.want {
				t.Errorf("with a request count: levels %s, want %s", got, tt.want)
			}
		})
	}
}

// The percentile decides, if one is asked for.
func TestSearchByPercentile(t *testing.T) {
	slow := func(id uint64) answer { // a tenth takes 100 ms: the mean is 19
		if id%10 == 0 {
			return answer{after: 100 * time.Millisecond, status: export.StatusOK}
		}
		return answer{after: 10 * time.Millisecond, status: export.StatusOK}
	}
	for pct, over := range map[int]bool{0: false, 50: false, 90: false, 95: true} {
		_, res, _, err := record(t, slow, Config{Measure: window.Measure{Requests: 100, Percentile: pct, LatencyLimit: 50 * time.Millisecond}}, nil)
		if err != nil || res.Levels[0].OverLimit != over {
			t.Errorf("percentile %d: %v, %v, %v, want over %v", pct, res.Levels[0].OverLimit, res.Levels[0].Reported.Latency, err, over)
		}
	}
}

// A level without latency is not within the limit, one that is not stable may be.
func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		name   string
		level  Level
		within bool
	}{
		{"below", Level{Reported: window.Window{Requests: 3}}, true},
		{"over", Level{Reported: window.Window{Requests: 3}, OverLimit: true}, false},
		{"nothing in the last windows", Level{OK: 30}, false},
		{"not stable", Level{Reported: window.Window{Requests: 3}, Stable: new(false)}, true},
	} {
		if got := tt.level.Within(); got != tt.within {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.within)
		}
	}
}

// A level that is not stable is marked, and the sweep goes on, unless it is to stop
// there.
func TestUnstableLevels(t *testing.T) {
	moody := func(id uint64) answer { // from 20 requests on it is another every ten
		after := 10 * time.Millisecond
		if id > 20 && id <= 70 && id/10%2 == 0 {
			after = 20 * time.Millisecond
		}
		return answer{after: after, status: export.StatusOK}
	}
	cfg := Config{Levels: load.Closed(1, 1, 1), Measure: window.Measure{Mode: window.ByCount, WindowRequests: 5, Stability: 0.1, MaxTrials: 4}}
	for _, stop := range []bool{false, true} {
		cfg.StopOnUnstable = stop
		w, res, _, err := record(t, moody, cfg, nil)
		if err != nil || res.Interrupted {
			t.Fatal(err, res.Interrupted)
		}
		var unstable []bool
		for i := range res.Levels {
			unstable = append(unstable, res.Levels[i].Unstable())
			if e := w.experiments[i]; *e.Meta.Stable == unstable[i] || (len(e.Meta.Warnings) > 0) != unstable[i] || res.Levels[i].OK == 0 {
				t.Errorf("stop %v, level %d: the export says %v, %q", stop, i, *e.Meta.Stable, e.Meta.Warnings)
			}
		}
		want, warnings := []bool{false, true, true}, 0
		if stop {
			want, warnings = want[:2], 1
		}
		if !slices.Equal(unstable, want) || len(w.run.Meta.Warnings) != warnings {
			t.Errorf("stop %v: unstable %v, want %v; warnings %q", stop, unstable, want, w.run.Meta.Warnings)
		}
		if stop && w.run.Meta.Warnings[0] != "ended before concurrency 1, because concurrency 1 was not stable" {
			t.Errorf("warning %q", w.run.Meta.Warnings)
		}
	}
}

// A step that is too small for the numbers between them to have a middle ends a
// search all the same.
func TestBinarySearchEnds(t *testing.T) {
	plan := BinarySearch(1, 2, 1e-300, rate)
	var done []Level
	for {
		next, ok := plan(done)
		if !ok {
			break
		}
		if len(done) > 100 {
			t.Fatalf("level %d: %v", len(done), next)
		}
		r := next.(load.Rate).PerSecond
		done = append(done, Level{Load: next, Reported: window.Window{Requests: 1}, OverLimit: r > 1.7})
	}
	if n := len(done); n < 50 {
		t.Errorf("it ended after %d levels", n)
	}
}
