package recorder

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func (f Figure) text() string {
	if !f.Known() {
		return "?"
	}
	return fmt.Sprintf("%v %.4g", f.Bound, f.Value)
}

// The forecast of each kind of level, reckoned by hand.
func TestForecast(t *testing.T) {
	t.Parallel()
	const s = time.Second
	offsets := []time.Duration{0, 2 * s, 2 * s, 30 * s, 60 * s}
	entries := make(workload.List, len(offsets))
	rate := load.Rate{PerSecond: 10}
	world := func(rank, size int) *Ranks { return &Ranks{World: ranks.World{Rank: rank, Size: size}} }
	for _, tt := range []struct {
		name           string
		level          load.Level
		cfg            Config
		time, requests string
	}{
		{"rate, count", rate, Config{Measure: window.Measure{Requests: 300}}, "exact 30", "exact 300"},
		{"rate, count, warm-up requests", rate, Config{Warmup: 50, Measure: window.Measure{Requests: 300}}, "exact 35", "exact 350"},
		{"rate, count, warm-up time", rate, Config{WarmupTime: 5 * s, Measure: window.Measure{Requests: 300}}, "exact 34.9", "exact 349"},
		{"rate, count, ramp", load.Rate{PerSecond: 10, RampUp: 4 * s}, Config{Measure: window.Measure{Requests: 300}}, "exact 33.9", "exact 319"},
		{"rate, count times the level", rate, Config{Measure: window.Measure{Times: 5}}, "exact 5", "exact 50"},
		{"rate, duration", rate, Config{Measure: window.Measure{Duration: 60 * s}}, "exact 60", "about 600"},
		{"rate, duration, warm-up", rate, Config{WarmupTime: 10 * s, Measure: window.Measure{Duration: 60 * s}}, "exact 70", "about 700"},
		{"rate, duration, ceiling", load.Rate{PerSecond: 10, Ceiling: 4}, Config{Measure: window.Measure{Duration: 60 * s}}, "exact 60", "at most 600"},
		{"rate, count, ceiling", load.Rate{PerSecond: 10, Ceiling: 4}, Config{Measure: window.Measure{Requests: 300}}, "at least 30", "exact 300"},
		{"poisson, scaled", load.Rate{PerSecond: 10, Arrivals: load.Poisson}, Config{Measure: window.Measure{Requests: 300}}, "exact 30", "exact 300"},
		{"poisson, unscaled", load.Rate{PerSecond: 10, Arrivals: load.Poisson, Unscaled: true}, Config{Measure: window.Measure{Requests: 300}}, "about 30", "exact 300"},
		{"poisson, warm-up time", load.Rate{PerSecond: 10, Arrivals: load.Poisson}, Config{WarmupTime: 5 * s, Measure: window.Measure{Requests: 300}}, "about 34.9", "about 349"},
		{"rate, time windows", rate, Config{}, "at most 50", "at most 500"},
		{"rate, count windows", rate, Config{Measure: window.Measure{Mode: window.ByCount}}, "at most 50", "at most 500"},
		{"rate, a third of it", rate, Config{Measure: window.Measure{Requests: 301}, Ranks: world(0, 3)}, "exact 30.1", "exact 101"},
		{"intervals", load.Intervals{Gaps: []time.Duration{s, 3 * s}}, Config{Measure: window.Measure{Requests: 5}}, "exact 9", "exact 5"},
		{"intervals, duration", load.Intervals{Gaps: []time.Duration{s, 3 * s}}, Config{Measure: window.Measure{Duration: 10 * s}}, "exact 10", "about 5"},
		{"schedule", load.Timetable{Offsets: offsets}, Config{Entries: entries}, "at least 60", "exact 5"},
		{"schedule, twice as fast", load.Timetable{Offsets: offsets, Speed: 2}, Config{Entries: entries}, "at least 30", "exact 5"},
		{"schedule, cut", load.Timetable{Offsets: offsets}, Config{Entries: entries, Measure: window.Measure{Duration: 30 * s}}, "exact 30", "about 4"},
		{"schedule, longer duration", load.Timetable{Offsets: offsets}, Config{Entries: entries, Measure: window.Measure{Duration: 90 * s}}, "at least 60", "exact 5"},
		{"sessions, within recordings", load.Sessions{N: 2}, Config{Entries: entries, Starts: &workload.Starts{}}, "?", "at most 5"},
		{"sessions, within recordings, count", load.Sessions{N: 2}, Config{Entries: entries, Starts: &workload.Starts{}, Measure: window.Measure{Requests: 9}}, "?", "at least 9"},
		{"sessions, within recordings, duration", load.Sessions{N: 2}, Config{Entries: entries, Starts: &workload.Starts{}, Measure: window.Measure{Duration: 30 * s}}, "at least 30", "?"},
		{"sessions, refill", load.Sessions{N: 2}, Config{Entries: entries, RefillWindow: true}, "?", "at most 5"},
		{"concurrency, count", load.Concurrency{N: 8}, Config{Warmup: 8, Measure: window.Measure{Requests: 80}}, "?", "exact 88"},
		{"concurrency, count, warm-up time", load.Concurrency{N: 8}, Config{WarmupTime: s, Measure: window.Measure{Requests: 80}}, "?", "at least 80"},
		{"concurrency, all", load.Concurrency{N: 8}, Config{Entries: entries, Measure: window.Measure{All: true}}, "?", "exact 5"},
		{"concurrency, duration", load.Concurrency{N: 8, RampUp: s}, Config{WarmupTime: 2 * s, Measure: window.Measure{Duration: 60 * s}}, "exact 63", "?"},
		{"concurrency, duration, warm-up requests", load.Concurrency{N: 8}, Config{Warmup: 8, Measure: window.Measure{Duration: 60 * s}}, "at least 60", "?"},
		{"concurrency, time windows", load.Concurrency{N: 8}, Config{Measure: window.Measure{Interval: 2 * s, MaxTrials: 4}}, "at most 8", "?"},
		{"concurrency, time windows, warm-up requests", load.Concurrency{N: 8}, Config{Warmup: 8}, "?", "?"},
		{"concurrency, count windows", load.Concurrency{N: 8}, Config{Measure: window.Measure{Mode: window.ByCount}}, "?", "at most 508"},
		{"concurrency, a third of it", load.Concurrency{N: 8}, Config{Measure: window.Measure{Requests: 80}, Ranks: world(2, 3)}, "?", "exact 26"},
		{"concurrency below the ranks", load.Concurrency{N: 2}, Config{Measure: window.Measure{Requests: 80}, Ranks: world(2, 3)}, "?", "exact 0"},
		{"sessions", load.Sessions{N: 2}, Config{Entries: entries, Warmup: 1}, "?", "exact 5"},
		{"sessions, half of them", load.Sessions{N: 2}, Config{Entries: entries, Ranks: world(0, 2)}, "?", "about 3"},
		{"sessions, duration", load.Sessions{N: 2}, Config{Entries: entries, Measure: window.Measure{Duration: 60 * s}}, "exact 60", "?"},
		{"periodic", load.Periodic{Start: 2, End: 8, Step: 2, Period: 4}, Config{Warmup: 3}, "?", "exact 11"},
	} {
		f := tt.cfg.Forecast(tt.level)
		if f.Time.text() != tt.time || f.Requests.text() != tt.requests {
			t.Errorf("%s: time %s, requests %s; want %s and %s", tt.name, f.Time.text(), f.Requests.text(), tt.time, tt.requests)
		}
		if f.Time.Basis == "" || f.Requests.Basis == "" {
			t.Errorf("%s: %+v: a figure has no basis", tt.name, f)
		}
	}
}

// A forecast that is exact is what the run shows.
func TestForecastHolds(t *testing.T) {
	for _, level := range []load.Level{
		load.Rate{PerSecond: 10},
		load.Rate{PerSecond: 10, RampUp: 2 * time.Second},
		load.Rate{PerSecond: 10, Arrivals: load.Poisson, Seed: 3},
		load.Intervals{Gaps: []time.Duration{0, time.Second / 3}},
		load.Concurrency{N: 3},
	} {
		cfg := Config{Levels: []load.Level{level}, Warmup: 5, Measure: window.Measure{Requests: 40}}
		w, _, _, err := record(t, ok(time.Millisecond), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := cfg.Forecast(level)
		if n := len(w.requests); f.Requests.Bound != Exact || n != int(f.Requests.Value) {
			t.Errorf("%v: %d requests, forecast %s", level, n, f.Requests.text())
		}
		if all := starts(w); f.Time.Known() && (all[len(all)-1].Seconds()-f.Time.Value > 0.001 || f.Time.Value-all[len(all)-1].Seconds() > 0.001) {
			t.Errorf("%v: the last request was sent after %v, forecast %s s", level, all[len(all)-1], f.Time.text())
		}
	}
}

func TestFigure(t *testing.T) {
	t.Parallel()
	figure := func(b Bound) Figure { return Figure{Value: 2, Bound: b, Basis: b.String()} }
	for _, tt := range []struct{ a, b, want Bound }{
		{Exact, Exact, Exact},
		{Exact, About, About},
		{About, AtLeast, AtLeast},
		{AtMost, About, AtMost},
		{AtMost, AtLeast, About},
		{AtMost, AtMost, AtMost},
		{Unknown, Exact, Unknown},
		{AtMost, Unknown, Unknown},
	} {
		got := figure(tt.a).Add(figure(tt.b))
		if got.Bound != tt.want || got.Known() && got.Value != 4 {
			t.Errorf("%v + %v: %+v, want %v", tt.a, tt.b, got, tt.want)
		}
		if !got.Known() && got.Basis != "unknown" {
			t.Errorf("%v + %v: the reason is %q", tt.a, tt.b, got.Basis)
		}
	}
	for want, f := range map[string]Figure{
		`{"value":0.333,"bound":"about","basis":"a; b"}`: Figure{Value: 1, Bound: Exact, Basis: "a"}.Times(Figure{Value: 1.0 / 3, Bound: About, Basis: "b"}),
		`{"value":6,"bound":"exact","basis":"a; b; c"}`:  Figure{Value: 2, Bound: Exact, Basis: "a; b"}.Times(Figure{Value: 3, Bound: Exact, Basis: "a; c; b"}),
		`{"value":3,"bound":"exact","basis":"b"}`:        Figure{Value: 1, Bound: Exact}.Add(Figure{Value: 2, Bound: Exact, Basis: "b"}),
		`{"value":3,"bound":"exact","basis":"a"}`:        Figure{Value: 1, Bound: Exact, Basis: "a"}.Add(Figure{Value: 2, Bound: Exact}),
		`{"value":null,"bound":"unknown","basis":"why"}`: unknown("why"),
	} {
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// The time left follows from the schedule of an open loop, from the pace of a closed loop after
// some requests, and covers the levels that come later.
func TestProgressTimeLeft(t *testing.T) {
	const s = time.Second
	// Answers of the closed loops with a count never end at the instant of a snapshot, which could see some of four that end together.
	const odd = 1990 * time.Millisecond
	for _, tt := range []struct {
		name  string
		cfg   Config
		takes time.Duration
		from  time.Duration // no time left is known before
		end   time.Duration // of the first level
		later Figure
	}{
		// The second half of the entries comes in the last second: by the number of ended requests the level would seem to be half over.
		{"schedule", Config{Levels: []load.Level{load.Timetable{Offsets: []time.Duration{0, 0, 20 * s}}}, Entries: make(workload.List, 3)}, s / 10, 0, 20 * s, Figure{Bound: Exact}},
		{"rate, long answers", Config{Levels: []load.Level{load.Rate{PerSecond: 2}}, Measure: window.Measure{Requests: 40}}, 8 * s, 0, 20 * s, Figure{Bound: Exact}},
		{"warm-up by time", Config{Levels: load.Closed(2), WarmupTime: 5 * s, Measure: window.Measure{Duration: 10 * s}}, s, 0, 15 * s, Figure{Bound: Exact}},
		{"count", Config{Levels: load.Closed(4), Measure: window.Measure{Requests: 40}}, odd, odd, 10 * odd, Figure{Bound: Exact}},
		{"levels", Config{Levels: load.Closed(2, 4, 8), Measure: window.Measure{Duration: 10 * s}}, s, 0, 10 * s, Figure{Value: 20, Bound: Exact}},
		{"levels, counts", Config{Levels: load.Closed(4, 8), Measure: window.Measure{Requests: 40}}, odd, odd, 10 * odd, Figure{}},
	} {
		var all []Progress
		tt.cfg.Progress = func(p Progress) { all = append(all, p) }
		tt.cfg.Run = export.Run{Meta: &export.RunMeta{}}
		if _, _, _, err := record(t, ok(tt.takes), tt.cfg, nil); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range all {
			if p.Index > 0 || p.Elapsed > tt.end-s/2 {
				continue
			}
			if p.Elapsed < tt.from {
				if p.Left != 0 {
					t.Errorf("%s: after %v: %v left, though no request has ended", tt.name, p.Elapsed, p.Left)
				}
				continue
			}
			n++
			// Requests end four at a time in the closed loop, so that the pace is late by up to one of them.
			if d := p.Left - (tt.end - p.Elapsed); p.Elapsed > tt.from+s/2 && (d < -s/2 || d > 5*s) || p.AtMost {
				t.Errorf("%s: after %v: %v left, want %v", tt.name, p.Elapsed, p.Left, tt.end-p.Elapsed)
			}
			if p.Later.Value != tt.later.Value || p.Later.Bound != tt.later.Bound {
				t.Errorf("%s: later %+v, want %+v", tt.name, p.Later, tt.later)
			}
		}
		if n < 20 {
			t.Errorf("%s: %d snapshots with the time left", tt.name, n)
		}
	}
}
