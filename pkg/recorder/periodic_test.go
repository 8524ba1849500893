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

// tokens answers with n responses, one every 10 ms.
func tokens(n int) func(uint64) answer {
	return func(uint64) answer {
		return answer{after: time.Duration(n) * 10 * time.Millisecond, status: export.StatusOK, responses: n}
	}
}

// The next requests come when all of the last ones have so many responses, until
// there were as many as asked for; each slot sends one.
func TestPeriodic(t *testing.T) {
	w, res, _, err := record(t, tokens(10), Config{Levels: []load.Level{load.Periodic{Start: 1, End: 7, Step: 3, Period: 4}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []time.Duration
	workers := map[int]bool{}
	for _, start := range starts(w) {
		got = append(got, start/time.Millisecond)
	}
	for _, r := range w.requests {
		workers[r.Worker] = true
	}
	if want := []time.Duration{0, 40, 40, 40, 80, 80, 80}; !slices.Equal(got, want) || len(workers) != 7 {
		t.Errorf("started after %v ms by %d slots, want %v by 7", got, len(workers), want)
	}
	if e, l := w.experiments[0], res.Levels[0]; e.Mode != "concurrency" || e.Value != "7" || l.OK != 7 || len(l.Windows) != 1 || len(l.Warnings) > 0 {
		t.Errorf("experiment %s %s, %d requests, windows %v, warnings %q", e.Mode, e.Value, l.OK, l.Windows, l.Warnings)
	}
}

// A request that ends early, also by failing, holds up the next step no longer, and is reported.
func TestPeriodicEndsEarly(t *testing.T) {
	short := func(id uint64) answer {
		if id == 6 {
			return answer{after: 10 * time.Millisecond, status: export.StatusHTTPError, msg: "busy"}
		}
		return tokens(3)(id)
	}
	w, res, _, err := record(t, short, Config{Levels: []load.Level{load.Periodic{Start: 2, End: 4, Step: 1, Period: 5}}, Warmup: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count("warmup"); n != 4 {
		t.Errorf("%d of the warm-up, want 4", n)
	}
	const want = "4 requests ended before response 5, so the next step of the load began early"
	if l := res.Levels[0]; l.OK != 3 || l.Failed != 1 || !slices.Equal(l.Warnings, []string{want}) {
		t.Errorf("%d ok, %d failed, warnings %q, want 3, 1 and %q", l.OK, l.Failed, l.Warnings, want)
	}
}

func TestPeriodicErrors(t *testing.T) {
	level := []load.Level{load.Periodic{Start: 1, End: 2, Step: 1, Period: 1}}
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Measure: window.Measure{Requests: 4}}, "cannot be combined with a request count or a duration"},
		{Config{Measure: window.Measure{Duration: 4}}, "cannot be combined with a request count or a duration"},
		{Config{WarmupTime: 4}, "cannot be combined with a warm-up by time"},
	} {
		tt.cfg.Levels = level
		if err := tt.cfg.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

// A level whose workload cannot be read again under load ends with what it has.
func TestPeriodicSourceFails(t *testing.T) {
	w, res, _, err := record(t, tokens(3), Config{
		Entries: &countedSource{n: 20, failAt: 25}, KeepBytes: 1,
		Levels: []load.Level{load.Periodic{Start: 2, End: 12, Step: 2, Period: 2}},
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "data.jsonl: input/output error") {
		t.Errorf("error %v, want the source's", err)
	}
	if res == nil || w.count("") != 4 || w.run == nil {
		t.Errorf("%d requests measured, want the 4 that could be read", w.count(""))
	}
}
