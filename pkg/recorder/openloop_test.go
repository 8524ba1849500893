package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// sorted returns the requests in the order of their ids.
func (w *memWriter) sorted() []export.Request {
	return slices.SortedFunc(slices.Values(w.requests), func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
}

// starts returns when the requests started, in the order of their ids, since the
// level began.
func starts(w *memWriter) (all []time.Duration) {
	for _, r := range w.sorted() {
		all = append(all, time.Duration(r.StartNS-w.experiments[0].Meta.StartNS))
	}
	return all
}

// A constant rate is kept to the nanosecond, however long the answers take: in
// the bubble's time nothing is late.
func TestRateIsKept(t *testing.T) {
	for _, latency := range []time.Duration{time.Millisecond, 3 * time.Second} {
		w, res, _, err := record(t, ok(latency), Config{Levels: []load.Level{load.Rate{PerSecond: 20}}, Measure: window.Measure{Requests: 40}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, start := range starts(w) {
			if want := time.Duration(i+1) * 50 * time.Millisecond; start != want {
				t.Fatalf("answers of %v: request %d started after %v, want %v", latency, i+1, start, want)
			}
		}
		workers := map[int]bool{}
		for i, r := range w.sorted() {
			workers[r.Worker] = true
			if r.ID != uint64(i+1) || r.ScheduledNS != r.StartNS || string(r.Inputs[0].Value.Data) != fmt.Sprint("entry ", i%3) {
				t.Errorf("request %d: id %d, scheduled %d, started %d, %s", i, r.ID, r.ScheduledNS, r.StartNS, r.Inputs[0].Value.Data)
			}
		}
		if n := min(int(latency/(50*time.Millisecond))+2, 40); len(workers) != n {
			t.Errorf("answers of %v: %d slots sent, want %d: as many as there were requests in flight, and one that waits", latency, len(workers), n)
		}
		if e := w.experiments[0]; e.Mode != "request_rate" || e.Value != "20.0" {
			t.Errorf("experiment %s %s, want request_rate 20.0", e.Mode, e.Value)
		}
		c := w.experiments[0].Meta.Client
		if c.OfferedPerSecond != 20 || c.AchievedPerSecond != 20 || c.Lateness.N != 40 || c.Lateness.MaxNS != 0 || c.HeldBack != 0 || c.Turnaround != nil {
			t.Errorf("client %+v, want 20 of 20 per second, none late, no turnaround", c)
		}
		if res.Levels[0].OK != 40 || len(res.Levels[0].Saturated) > 0 {
			t.Errorf("level %+v, want 40 requests and no warning", res.Levels[0])
		}
	}
}

// dues returns the first n instants of a level's schedule.
func dues(level load.Open, n int) (all []time.Duration) {
	s := level.Schedule()
	for range n {
		due, _ := s.Next()
		all = append(all, due)
	}
	return all
}

// The requests that a level measures take as long as its rate says, whatever gaps were
// drawn. Windows measure no certain number, and keep the gaps as drawn.
func TestDrawnGapsKeepTheRate(t *testing.T) {
	drawn := load.Rate{PerSecond: 20, Arrivals: load.Poisson, Seed: 4}
	unscaled := drawn
	unscaled.Unscaled = true
	ramped := drawn
	ramped.RampUp = 4 * time.Second
	type exact struct { // a request and its instant
		i  int
		at time.Duration
	}
	for _, tt := range []struct {
		name  string
		level load.Rate
		cfg   Config
		n     int
		want  []exact
	}{
		{"a request count", drawn, Config{Measure: window.Measure{Requests: 40}}, 40, []exact{{39, 2 * time.Second}}},
		{"times the level", drawn, Config{Measure: window.Measure{Times: 2}}, 40, []exact{{39, 2 * time.Second}}},
		{"a duration", drawn, Config{Measure: window.Measure{Duration: 2001 * time.Millisecond}}, 40, []exact{{39, 2 * time.Second}}},
		{"a warm-up by requests", drawn, Config{Warmup: 20, Measure: window.Measure{Requests: 40}}, 60, []exact{{19, time.Second}, {59, 3 * time.Second}}},
		// The request that is due when the warm-up ends is measured.
		{"a warm-up by time", drawn, Config{WarmupTime: time.Second, Measure: window.Measure{Requests: 41}}, 60, []exact{{19, time.Second}}},
		{"a ramp", ramped, Config{Measure: window.Measure{Requests: 41}}, 80, []exact{{39, 4 * time.Second}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Levels = []load.Level{tt.level}
			w, _, _, err := record(t, ok(time.Millisecond), tt.cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			all := starts(w)
			if len(all) != tt.n {
				t.Fatalf("%d requests, want %d", len(all), tt.n)
			}
			for _, want := range tt.want {
				if all[want.i] != want.at {
					t.Errorf("request %d started after %v, want %v", want.i, all[want.i], want.at)
				}
			}
		})
	}
	for _, tt := range []struct {
		name    string
		level   load.Rate
		measure window.Measure
	}{
		{"windows", drawn, window.Measure{Interval: time.Second, MaxTrials: 2}},
		{"unscaled", unscaled, window.Measure{Requests: 40}},
		{"unscaled for a duration", unscaled, window.Measure{Duration: 2 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _, _, err := record(t, ok(time.Millisecond), Config{Levels: []load.Level{tt.level}, Measure: tt.measure}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := starts(w); len(got) == 0 || !slices.Equal(got, dues(drawn, len(got))) {
				t.Errorf("started at %v, want the gaps as drawn", got)
			}
		})
	}
}

// Each schedule is followed to the instant, and no other gap is sent.
func TestSchedulesAreFollowed(t *testing.T) {
	ms := func(all ...int) (d []time.Duration) {
		for _, x := range all {
			d = append(d, time.Duration(x)*time.Millisecond)
		}
		return d
	}
	poisson := load.Rate{PerSecond: 100, Arrivals: load.Poisson, Seed: 4}
	drawn := dues(poisson.Scaled(0, 0, 30), 30)
	unscaled := poisson
	unscaled.Unscaled = true
	for _, tt := range []struct {
		name  string
		level load.Level
		n     int // requests to ask for; 0: the level's own
		want  []time.Duration
	}{
		{"Poisson", poisson, 30, drawn},
		{"Poisson, unscaled", unscaled, 30, dues(poisson, 30)},
		{"intervals", load.Intervals{Gaps: ms(100, 0, 30)}, 7, ms(100, 100, 130, 230, 230, 260, 360)},
		{"intervals, faster", load.Intervals{Gaps: ms(100, 0, 30), Speed: 10}, 4, ms(10, 10, 13, 23)},
		{"a trace keeps its gaps", load.Timetable{Offsets: ms(5000, 5000, 5250, 6000, 10000)}, 0, ms(0, 0, 250, 1000, 5000)},
		{"a trace, slower", load.Timetable{Offsets: ms(0, 5, 20), Speed: 0.5}, 0, ms(0, 10, 40)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries := make(workload.List, len(tt.want))
			for i := range entries {
				entries[i].Step = i
			}
			w, res, _, err := record(t, ok(20*time.Millisecond), Config{Entries: entries, Levels: []load.Level{tt.level}, Measure: window.Measure{Requests: tt.n}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := starts(w); !slices.Equal(got, tt.want) {
				t.Errorf("started after %v, want %v", got, tt.want)
			}
			for i, r := range w.sorted() {
				if want := fmt.Sprint("entry ", i); string(r.Inputs[0].Value.Data) != want {
					t.Errorf("request %d sent %s, want %s", i, r.Inputs[0].Value.Data, want)
				}
			}
			if l := res.Levels[0]; l.OK != len(tt.want) || len(l.Windows) != 1 || l.Stable != nil {
				t.Errorf("%d requests, %d windows, stable %v; want %d in one window", l.OK, len(l.Windows), l.Stable, len(tt.want))
			}
		})
	}
}

// With a ceiling what is due waits until there is room, and is sent then: late by
// the schedule, but not by the client's fault. What was asked for and what was
// sent are both told.
func TestCeiling(t *testing.T) {
	w, res, took, err := record(t, ok(100*time.Millisecond), Config{
		Levels: []load.Level{load.Rate{PerSecond: 100, Ceiling: 2}}, Measure: window.Measure{Requests: 20},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range w.sorted() {
		due := time.Duration(i+1) * 10 * time.Millisecond
		start := 100*time.Millisecond*time.Duration(i/2) + 10*time.Millisecond*time.Duration(i%2+1)
		base := w.experiments[0].Meta.StartNS
		if got := time.Duration(r.ScheduledNS - base); got != due {
			t.Errorf("request %d scheduled after %v, want %v", i+1, got, due)
		}
		if got := time.Duration(r.StartNS - base); got != start {
			t.Errorf("request %d started after %v, want %v", i+1, got, start)
		}
		if r.Worker > 1 {
			t.Errorf("request %d was sent by slot %d of two", i+1, r.Worker)
		}
	}
	if want := 1020 * time.Millisecond; took != want {
		t.Errorf("took %v, want %v: two at a time", took, want)
	}
	// The last one was sent 910 ms after the first; 92 were due by then, and 18 of
	// the 20 that were sent had waited.
	c := w.experiments[0].Meta.Client
	if c.OfferedPerSecond != 100 || fmt.Sprintf("%.3f", c.AchievedPerSecond) != "21.739" || c.HeldBack != 18 || c.Lateness.N != 2 || c.Lateness.MaxNS != 0 {
		t.Errorf("%v per second offered, %v sent, %d held back, lateness %+v; want 100, 21.739, 18, the lateness of two requests", c.OfferedPerSecond, c.AchievedPerSecond, c.HeldBack, c.Lateness)
	}
	const want = "21.7391 of the 100 requests per second that were asked for were sent: 18 had to wait, because the most requests allowed were in flight"
	if s := res.Levels[0].Saturated; !slices.Equal(s, []string{want}) || !slices.Contains(w.experiments[0].Meta.Warnings, want) {
		t.Errorf("warnings %q, want %q", s, want)
	}
}

// When the ceiling is no longer reached, the schedule is kept again.
func TestCeilingIsCaughtUpWith(t *testing.T) {
	slow := func(id uint64) answer { // the first answers take long
		if id <= 2 {
			return answer{after: 300 * time.Millisecond, status: export.StatusOK}
		}
		return answer{after: time.Millisecond, status: export.StatusOK}
	}
	w, _, _, err := record(t, slow, Config{Levels: []load.Level{load.Rate{PerSecond: 10, Ceiling: 2}}, Measure: window.Measure{Requests: 10}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var late []int
	for i, r := range w.sorted() {
		if r.StartNS != r.ScheduledNS {
			late = append(late, i+1)
		}
	}
	if c := w.experiments[0].Meta.Client; !slices.Equal(late, []int{3, 4}) || c.HeldBack != 2 || c.Lateness.N != 8 {
		t.Errorf("requests %v were late, %d held back; want the third and the fourth", late, c.HeldBack)
	}
}

// Requests are the warm-up by their number or by the time they are due, the load
// goes on, and the measurement begins right behind them.
func TestWarmupOfARate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		warmup  int
		time    time.Duration
		ramp    time.Duration
		warm    int
		from    time.Duration // the window, since the level began: a count's is from its first request on
		measure window.Measure
		ok      int
	}{
		{"by count", 5, 0, 0, 5, 600 * time.Millisecond, window.Measure{Requests: 10}, 10},
		{"by time", 0, time.Second, 0, 9, time.Second, window.Measure{Requests: 10}, 10},
		{"by both: the count is later", 15, time.Second, 0, 15, 1600 * time.Millisecond, window.Measure{Requests: 10}, 10},
		{"by both: the time is later", 5, time.Second, 0, 9, time.Second, window.Measure{Requests: 10}, 10},
		{"a ramp", 0, 0, 2 * time.Second, 9, 2 * time.Second, window.Measure{Requests: 10}, 10},
		{"a ramp and time", 0, time.Second, 2 * time.Second, 19, 3 * time.Second, window.Measure{Requests: 10}, 10},
		{"for a while", 0, time.Second, 0, 9, time.Second, window.Measure{Duration: 2 * time.Second}, 20},
		{"times the rate", 5, 0, 0, 5, 600 * time.Millisecond, window.Measure{Times: 3}, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, res, _, err := record(t, ok(10*time.Millisecond), Config{
				Levels: []load.Level{load.Rate{PerSecond: 10, RampUp: tt.ramp}}, Warmup: tt.warmup, WarmupTime: tt.time, Measure: tt.measure,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, e := res.Levels[0], w.experiments[0]
			if l.Warmup != tt.warm || l.OK != tt.ok || w.count("warmup") != tt.warm {
				t.Errorf("%d requests of warm-up and %d measured, want %d and %d", l.Warmup, l.OK, tt.warm, tt.ok)
			}
			for i, r := range w.sorted() {
				if warm := r.Phase == export.PhaseWarmup; warm != (i < tt.warm) {
					t.Errorf("request %d: phase %v", i+1, r.Phase)
				}
			}
			if from := time.Duration(l.Windows[0].StartNS - e.Meta.StartNS); from != tt.from {
				t.Errorf("measured from %v on, want %v", from, tt.from)
			}
			if c := e.Meta.Client; fmt.Sprintf("%.6f", c.OfferedPerSecond) != "10.000000" || c.Lateness.N != l.OK+l.Late {
				t.Errorf("%v per second offered, lateness %+v; want 10 and the lateness of the measured requests", c.OfferedPerSecond, c.Lateness)
			}
		})
	}
}

// A schedule that is over ends the level, whatever was to decide.
func TestTimetableEnds(t *testing.T) {
	offsets := []time.Duration{0, time.Second, 2 * time.Second}
	for name, m := range map[string]window.Measure{
		"windows":            {Interval: 10 * time.Second},
		"a longer duration":  {Duration: time.Minute},
		"the first requests": {Duration: 1500 * time.Millisecond},
	} {
		w, _, _, err := record(t, ok(10*time.Millisecond), Config{Levels: []load.Level{load.Timetable{Offsets: offsets}}, Measure: m}, nil)
		want := 3
		if name == "the first requests" {
			want = 2
		}
		if err != nil || w.count("") != want || len(w.requests) != want {
			t.Errorf("%s: %d of %d measured, %v; want %d", name, w.count(""), len(w.requests), err, want)
		}
	}
}

// A signal ends the waiting for the next instant, and what is in flight is waited
// for.
func TestStopWhileWaiting(t *testing.T) {
	for name, level := range map[string]load.Level{
		"between requests": load.Rate{PerSecond: 0.01},
		"at the ceiling":   load.Rate{PerSecond: 1000, Ceiling: 1},
	} {
		w, res, took, err := record(t, ok(5*time.Second), Config{Levels: []load.Level{level}}, func(stop chan struct{}, _ context.CancelFunc) {
			time.Sleep(3 * time.Second)
			close(stop)
		})
		if err != nil || !res.Interrupted || took > 6*time.Second || len(w.requests) > 1 || w.run == nil {
			t.Errorf("%s: %d requests after %v, %v, interrupted %v", name, len(w.requests), took, err, res.Interrupted)
		}
	}
}

// A server that is gone ends a level with a schedule, too, and one that refuses
// some requests at once, because others are worked on, does not.
func TestOpenLoopFailures(t *testing.T) {
	refuse := func(uint64) answer {
		return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "no such model"}
	}
	_, _, took, err := record(t, refuse, Config{Levels: []load.Level{load.Rate{PerSecond: 10}}, Measure: window.Measure{Requests: 1000}}, nil)
	var fe *FailedError
	if !errors.As(err, &fe) || fe.Failures != firstFailures || took > time.Second {
		t.Errorf("after %v: %v, want the end after %d failures", took, err, firstFailures)
	}
	busy := func(id uint64) answer {
		if id <= 3 {
			return answer{after: 2 * time.Second, status: export.StatusOK}
		}
		if id < 15 {
			return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "busy"}
		}
		return answer{after: time.Millisecond, status: export.StatusOK}
	}
	w, _, _, err := record(t, busy, Config{Levels: []load.Level{load.Rate{PerSecond: 10}}, Measure: window.Measure{Requests: 30}}, nil)
	if err != nil || w.count("") != 19 || w.count("failed") != 11 {
		t.Errorf("%d ok, %d failed, %v; want 19 and 11", w.count(""), w.count("failed"), err)
	}
}

// A closed loop with a ramp starts its slots one after the other; what is sent
// until all have begun is warm-up.
func TestConcurrencyRampUp(t *testing.T) {
	w, res, _, err := record(t, ok(100*time.Millisecond), Config{
		Levels: []load.Level{load.Concurrency{N: 4, RampUp: 2 * time.Second}}, Measure: window.Measure{Requests: 40},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := map[int]time.Duration{}
	for i, start := range starts(w) {
		if r := w.sorted()[i]; first[r.Worker] == 0 {
			first[r.Worker] = start
		}
	}
	for worker, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		if got := first[worker]; got != want && (want > 0 || got > 100*time.Millisecond) {
			t.Errorf("slot %d began after %v, want %v", worker, got, want)
		}
	}
	// 20 + 15 + 10 + 5 begin within the two seconds.
	if l := res.Levels[0]; l.Warmup != 50 || l.OK != 40 || time.Duration(l.Windows[0].StartNS-w.experiments[0].Meta.StartNS) != 2*time.Second {
		t.Errorf("%d of warm-up, %d measured, from %v on; want 50, 40 and from 2s on", l.Warmup, l.OK, time.Duration(l.Windows[0].StartNS-w.experiments[0].Meta.StartNS))
	}
}

// A closed loop warms up for a time without a pause before the measurement.
func TestWarmupTimeOfAConcurrency(t *testing.T) {
	w, res, _, err := record(t, ok(70*time.Millisecond), Config{Levels: load.Closed(2), WarmupTime: time.Second, Measure: window.Measure{Times: 5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// 2 × 15 begin before 1 s; the requests of the measurement at 1.05 s.
	if l := res.Levels[0]; l.Warmup != 30 || l.OK != 10 || time.Duration(l.Windows[0].StartNS-w.experiments[0].Meta.StartNS) != 1050*time.Millisecond {
		t.Errorf("%d of warm-up, %d measured; want 30 and 10, from 1.05s on", l.Warmup, l.OK)
	}
}

// Levels that cannot be recorded are refused before anything is sent.
func TestValidateLevels(t *testing.T) {
	table := load.Timetable{Offsets: []time.Duration{0, 1, 2}}
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Levels: []load.Level{load.Rate{}}}, "request rate 0: must be above 0"},
		{Config{Levels: []load.Level{table}, Entries: workload.List{{}}}, "schedule of 3 requests: expected as many entries, found 1"},
		{Config{Levels: []load.Level{table}, Entries: make(workload.List, 3), Order: workload.Order{Kind: workload.Shuffled}}, "its entries have an order; drop the order shuffle"},
		{Config{Levels: []load.Level{table}, Entries: make(workload.List, 3), Measure: window.Measure{Requests: 2}}, "cannot be combined with a request count"},
		{Config{Levels: []load.Level{table}, Entries: make(workload.List, 3), Warmup: 3}, "a warm-up of 3 leaves nothing to measure"},
		{Config{Measure: window.Measure{Times: 2, Requests: 3}}, "exclude each other"},
		{Config{Measure: window.Measure{Times: 2, Duration: 3}}, "a request count and a duration exclude each other"},
		{Config{WarmupTime: -1}, "warm-up of -1ns"},
	} {
		if err := tt.cfg.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
