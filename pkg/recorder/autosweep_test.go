package recorder

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// One at a time a server that takes 100 ms gives 10 a second, ten at a time 100;
// the rates lie between.
func TestAutoSweep(t *testing.T) {
	like := load.Rate{Arrivals: load.Poisson, Seed: 5, Ceiling: 10}
	w, res, _, err := record(t, ok(100*time.Millisecond), Config{Plan: AutoSweep(10, like), Measure: window.Measure{Times: 5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range w.experiments {
		got = append(got, e.Mode+" "+e.Value)
	}
	want := []string{
		"concurrency 1", "concurrency 10", "request_rate 20.0", "request_rate 30.0", "request_rate 40.0", "request_rate 50.0",
		"request_rate 60.0", "request_rate 70.0", "request_rate 80.0", "request_rate 90.0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("levels %q, want %q", got, want)
	}
	for _, l := range res.Levels[2:] {
		r := l.Load.(load.Rate)
		if r.Arrivals != load.Poisson || r.Seed != 5 || r.Ceiling != 10 || l.OK != int(math.Ceil(5*r.PerSecond)) {
			t.Errorf("level %+v with %d requests, want it like %+v", r, l.OK, like)
		}
	}
}

// Where more at a time give no more, there is nothing between.
func TestAutoSweepOfNothing(t *testing.T) {
	level := func(n int, seconds float64) Level {
		return Level{OK: n, Windows: []window.Window{{StartNS: 1, EndNS: 1 + uint64(seconds*1e9)}}}
	}
	plan := AutoSweep(8, load.Rate{})
	for _, tt := range []struct {
		name string
		done []Level
		want string // "" is the end
	}{
		{"first", nil, "concurrency 1"},
		{"second", []Level{level(10, 1)}, "concurrency 8"},
		{"hardly more", []Level{level(100, 1), level(104, 1)}, ""},
		{"less", []Level{level(100, 1), level(90, 1)}, ""},
		{"nothing came back", []Level{level(0, 1), level(90, 1)}, ""},
		{"no time", []Level{{OK: 3}, level(90, 1)}, ""},
		{"more", []Level{level(10, 1), level(100, 1)}, "request rate 20"},
		{"a rate that is not round", []Level{level(10, 1), level(552, 1)}, "request rate 70"},
		{"levels close together", []Level{level(100, 10), level(106, 10)}, "request rate 10.067"},
		{"a fast server", []Level{level(9123, 1), level(987654, 1)}, "request rate 120000"},
		{"a slow server", []Level{level(10, 1000), level(1000, 1000)}, "request rate 0.12"},
	} {
		next, ok := plan(tt.done)
		if ok != (tt.want != "") || ok && next.String() != tt.want {
			t.Errorf("%s: %v, %v, want %q", tt.name, next, ok, tt.want)
		}
	}
}

// A plan's level that cannot be is found before it begins, and what was measured
// is kept.
func TestPlanWithMistake(t *testing.T) {
	plan := func(done []Level) (load.Level, bool) { return load.Concurrency{N: 1 - len(done)}, true }
	w, res, _, err := record(t, ok(time.Millisecond), Config{Plan: plan, Measure: window.Measure{Requests: 5}}, nil)
	if err == nil || !strings.Contains(err.Error(), "concurrency 0") || len(res.Levels) != 1 || w.count("") != 5 || w.run == nil {
		t.Errorf("error %v, %d levels, %d requests", err, len(res.Levels), w.count(""))
	}
	if err := (&Config{Plan: plan, Levels: load.Closed(1)}).Validate(); err == nil || !strings.Contains(err.Error(), "levels and a plan exclude each other") {
		t.Errorf("error %v", err)
	}
}

// Between levels there is time for something else, with nothing in flight; when
// that fails the run ends, and when it is interrupted, too.
func TestBetween(t *testing.T) {
	var at []time.Time
	pause := func(context.Context) error {
		at = append(at, time.Now())
		time.Sleep(time.Second)
		return nil
	}
	w, _, took, err := record(t, ok(100*time.Millisecond), Config{Levels: load.Closed(1, 2, 1), Measure: window.Measure{Requests: 2}, Between: pause}, nil)
	if err != nil || len(at) != 2 || took != 2*time.Second+500*time.Millisecond || w.count("") != 6 {
		t.Errorf("called %d times, %v, %v", len(at), took, err)
	}
	w, res, _, err := record(t, ok(time.Millisecond), Config{Levels: load.Closed(1, 2), Measure: window.Measure{Requests: 2}, Between: func(context.Context) error {
		return errors.New("no such path")
	}}, nil)
	if err == nil || !strings.Contains(err.Error(), "no such path") || len(res.Levels) != 1 || len(w.run.Meta.Warnings) != 1 {
		t.Errorf("%v, %d levels, want the error after the first", err, len(res.Levels))
	}
	w, res, took, err = record(t, ok(time.Millisecond), Config{Levels: load.Closed(1, 2), Measure: window.Measure{Requests: 2}, Between: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}, func(stop chan struct{}, _ context.CancelFunc) {
		time.Sleep(time.Minute)
		close(stop)
	})
	if err != nil || !res.Interrupted || took != time.Minute || w.count("") != 2 || w.run.Meta.Interrupted == "" {
		t.Errorf("interrupted: %v, %v after %v", err, res.Interrupted, took)
	}
}

// Rounded rates are even decimals, all different, and no further than a twentieth of
// their distance from where they lie exactly.
func TestAutoSweepRounds(t *testing.T) {
	t.Parallel()
	for _, ends := range [][2]float64{{10, 552}, {1, 1.06}, {0.003, 0.0099}, {9123, 987654}, {17.3, 4021.7}, {1e-7, 3e-7}, {99.99, 105.1}} {
		distance := (ends[1] - ends[0]) / 9
		before := ends[0]
		for k := 1; k <= 8; k++ {
			exact := ends[0] + float64(k)*distance
			got := roundedTo(exact, distance/10)
			if math.Abs(got-exact) > distance/20*(1+1e-9) || got <= before || got >= ends[1] {
				t.Errorf("%v, rate %d: %v, exactly %v", ends, k, got, exact)
			}
			// At most two digits below the first one of the distance.
			if digits := len(strings.TrimLeft(strings.ReplaceAll(strconv.FormatFloat(got, 'f', -1, 64), ".", ""), "0")); digits > 7 {
				t.Errorf("%v, rate %d: %v has %d digits", ends, k, got, digits)
			}
			before = got
		}
	}
}

// A level with fewer requests than its concurrency sends these requests, and warns.
func TestFewerRequestsThanConcurrency(t *testing.T) {
	w, res, _, err := record(t, ok(100*time.Millisecond), Config{Levels: load.Closed(2, 8), Measure: window.Measure{Requests: 4}}, nil)
	if err != nil || len(res.Levels) != 2 || w.count("") != 8 {
		t.Fatalf("%v, %d levels, %d requests, want 2 levels of 4", err, len(res.Levels), w.count(""))
	}
	const want = "the request count of 4 is below the concurrency, so at most 4 of 8 requests were in flight; raise the count, or give it as a multiple such as 5x"
	if got := res.Levels[0].Warnings; len(got) != 0 {
		t.Errorf("concurrency 2: warnings %q, want none", got)
	}
	if got := res.Levels[1].Warnings; !slices.Equal(got, []string{want}) {
		t.Errorf("concurrency 8: warnings %q, want %q", got, want)
	}
	if got := w.experiments[1].Meta.Warnings; !slices.Contains(got, want) {
		t.Errorf("export: warnings %q, want %q among them", got, want)
	}
}
