package recorder

import (
	"context"
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

// steps returns n entries that differ by their steps, in conversations of two turns.
func steps(n int) workload.List {
	all := make(workload.List, n)
	for i := range all {
		all[i] = workload.Entry{Step: i, Session: fmt.Sprint("s", i/2), Turn: i % 2}
	}
	return all
}

// Each level goes on where the level before ended, whatever ends a level, and a later run
// where the run before ended: together they are the requests of one long level.
func TestLevelsGoOn(t *testing.T) {
	rates := []load.Level{load.Rate{PerSecond: 100}, load.Rate{PerSecond: 250, Arrivals: load.Poisson, Seed: 3}}
	for _, order := range []workload.Order{{}, {Kind: workload.Shuffled, Seed: 9}, {Kind: workload.Random, Seed: 9}} {
		for _, tt := range []struct {
			name string
			cfg  Config
		}{
			{"counts", Config{Levels: load.Closed(1, 4, 16), Measure: window.Measure{Requests: 21}}},
			{"multiples of the level", Config{Levels: load.Closed(1, 4, 16), Measure: window.Measure{Times: 5}}},
			{"warm-up requests", Config{Levels: load.Closed(1, 4, 16), Measure: window.Measure{Requests: 21}, Warmup: 5}},
			{"warm-up time", Config{Levels: load.Closed(1, 4, 16), Measure: window.Measure{Requests: 21}, WarmupTime: 95 * time.Millisecond}},
			{"time", Config{Levels: load.Closed(1, 4, 16), Measure: window.Measure{Duration: 200 * time.Millisecond}}},
			{"windows", Config{Levels: load.Closed(1, 4), Measure: window.Measure{Interval: 100 * time.Millisecond, MaxTrials: 3}}},
			{"rates", Config{Levels: rates, Measure: window.Measure{Requests: 40}, Warmup: 3}},
			{"rates for a time", Config{Levels: rates, Measure: window.Measure{Duration: 300 * time.Millisecond}, WarmupTime: 50 * time.Millisecond}},
			{"a search", Config{Plan: BinarySearch(1, 8, 1, func(n int) load.Level { return load.Concurrency{N: n} }), Measure: window.Measure{Requests: 20, LatencyLimit: time.Second}}},
			{"batches", Config{Levels: load.Closed(1, 4), Measure: window.Measure{Requests: 20}, Warmup: 4}},
		} {
			for _, keep := range []int64{0, 1} { // all requests in memory, or one
				name := fmt.Sprint(tt.name, ", ", order.Kind, ", ", keep)
				cfg := tt.cfg
				cfg.Order, cfg.KeepBytes, cfg.Entries = order, keep, steps(1000)
				next, sent := 0, 0
				for run := range 2 {
					cfg.First = next
					w, res, _, err := record(t, ok(10*time.Millisecond), cfg, nil)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					for i, text := range inputsOf(w) {
						if want := fmt.Sprint(order.Index(sent+i, 1000)); text != want {
							t.Fatalf("%s, run %d: request %d is entry %s, want %s", name, run, i, text, want)
						}
					}
					at := sent
					for i := range w.experiments {
						p := w.experiments[i].Meta.Prompts
						if p.First != at || p.Of != 1000 || p.Again() != 0 || p.SHA256 != "" || p.Restart {
							t.Errorf("%s, run %d, level %d: %+v, want First %d", name, run, i, p, at)
						}
						at += p.Requests
					}
					sent += len(w.requests)
					if next = res.Next; next != sent || at != sent || len(w.experiments) < len(cfg.Levels) {
						t.Errorf("%s, run %d: %d levels to position %d, next %d, want %d", name, run, len(w.experiments), at, next, sent)
					}
				}
			}
		}
	}
}

// Data that is used up begins again, and the level says how often.
func TestDataBeginsAgain(t *testing.T) {
	w, res, _, err := record(t, ok(10*time.Millisecond), Config{Entries: steps(50), Levels: load.Closed(1, 4), Measure: window.Measure{Requests: 30}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var again []int
	for _, l := range res.Levels {
		again = append(again, l.Prompts.Again())
	}
	if !slices.Equal(again, []int{0, 10}) || inputsOf(w)[50] != "0" {
		t.Errorf("%v requests again, the first is entry %s; want 0 and 10, and entry 0", again, inputsOf(w)[50])
	}
	p := export.LevelPrompts{First: 120, Requests: 30, Of: 50}
	if p.Again() != 30 {
		t.Errorf("%d requests again after the second round, want 30", p.Again())
	}
}

// A timetable sends the entries of its instants: a later run sends all of them again, and
// says so.
func TestTimetableBeginsAgain(t *testing.T) {
	var offsets []time.Duration
	for i := range 10 {
		offsets = append(offsets, time.Duration(i)*5*time.Millisecond)
	}
	for _, tt := range []struct{ first, want, again int }{{0, 0, 0}, {10, 10, 10}, {4, 10, 10}} {
		w, res, _, err := record(t, ok(10*time.Millisecond), Config{
			Entries: steps(10), Levels: []load.Level{load.Timetable{Offsets: offsets}}, First: tt.first,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := res.Levels[0].Prompts; p.First != tt.want || p.Again() != tt.again || inputsOf(w)[0] != "0" || len(w.requests) != 10 {
			t.Errorf("after %d requests: %+v, %d again, the first is entry %s", tt.first, p, p.Again(), inputsOf(w)[0])
		}
	}
}

// With Restart each stage begins with the first entry.
func TestRestart(t *testing.T) {
	w, _, _, err := record(t, ok(10*time.Millisecond), Config{
		Entries: steps(50), Levels: load.Closed(1, 4), Measure: window.Measure{Requests: 3}, Warmup: 2, Restart: true, First: 7,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(inputsOf(w), " "), "0 1 0 1 2 0 1 0 1 2"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

// Conversations go on, too: with a duration a level begins with the conversation after the
// last one that has begun.
func TestConversationsGoOn(t *testing.T) {
	w, res, _, err := record(t, ok(10*time.Millisecond), Config{
		Backend: &fakeTalker{}, Entries: steps(200), Levels: []load.Level{load.Sessions{N: 1}, load.Sessions{N: 4}},
		Measure: window.Measure{Duration: 95 * time.Millisecond},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var begun []string
	slices.SortFunc(w.requests, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
	for _, r := range w.requests {
		if r.Turn == 0 {
			begun = append(begun, r.SessionID)
		}
	}
	slices.Sort(begun)
	if n := len(begun); n < 15 || len(slices.Compact(begun)) != n {
		t.Errorf("conversations %v, want at least 15, none twice", begun)
	}
	if first := res.Levels[1].Prompts.First; first != res.Levels[0].Prompts.Conversations || first < 4 || res.Next < 15 {
		t.Errorf("the second level begins with conversation %d after %+v; next %d", first, res.Levels[0].Prompts, res.Next)
	}
}

// Levels that end by time: the ranks of a run have sent different numbers of requests, and
// begin the next level alike, after the last request of any of them.
func TestRanksGoOnTogether(t *testing.T) {
	t.Parallel()
	for _, levels := range [][]load.Level{
		{load.Concurrency{N: 3}, load.Concurrency{N: 4}, load.Concurrency{N: 3}},
		{load.Sessions{N: 3}, load.Sessions{N: 4}, load.Sessions{N: 3}},
	} {
		runs := recordWorld(t, 2, func() Config {
			return Config{Entries: steps(20000), Levels: levels, Measure: window.Measure{Duration: 40 * time.Millisecond}, First: 7}
		}, worldOptions{each: func(rank int, cfg *Config, _ *fakeServer) { cfg.First += 2 * rank }})
		seen := map[string]bool{}
		for _, r := range runs {
			if r.err != nil {
				t.Fatal(r.err)
			}
			for i := range r.res.Levels {
				if a, b := runs[0].res.Levels[i].Prompts, r.res.Levels[i].Prompts; a.First != b.First || i == 0 && a.First != 9 || i > 0 && a.First <= runs[0].res.Levels[i-1].Prompts.First {
					t.Errorf("%v: the ranks begin level %d at %+v and %+v", levels[0], i, a, b)
				}
			}
			for _, q := range r.w.requests {
				text := string(q.Inputs[0].Value.Data)
				if seen[text] {
					t.Fatalf("%v: %s was sent twice", levels[0], text)
				}
				seen[text] = true
			}
		}
	}
}

// A Renew that makes up other entries lets each level begin with the first of them, also if
// they are encoded under load; the level has their hash, the header the first run's.
func TestRenewedEntries(t *testing.T) {
	for _, keep := range []int64{0, 1} {
		src := steps(10)
		w, res, _, err := record(t, ok(10*time.Millisecond), Config{
			Entries: src, KeepBytes: keep, Levels: load.Closed(1, 2, 3), Measure: window.Measure{Requests: 3}, Warmup: 2, First: 4, Hash: DataHash{"first", "prompts"},
			Renew: func(_ context.Context, level int) (Renewal, error) {
				for i := range src {
					src[i].Step = 100*level + i
				}
				return Renewal{Changed: level > 0, MadeUp: true, Salt: fmt.Sprint("salt", level)}, nil
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(inputsOf(w), " "), "0 1 2 3 4 100 101 102 103 104 200 201 202 203 204"; got != want {
			t.Errorf("keep %d: sent %s, want %s", keep, got, want)
		}
		hashes := map[string]bool{}
		for i := range res.Levels {
			p := w.experiments[i].Meta.Prompts
			hashes[p.SHA256] = true
			if p.First != 0 || !p.MadeUp || p.CacheSalt != fmt.Sprint("salt", i) {
				t.Errorf("keep %d, level %d: %+v", keep, i, p)
			}
		}
		if len(hashes) != 3 || w.run.Meta.DatasetSHA256 != "first" || w.run.Meta.PromptsSHA256 != "prompts" {
			t.Errorf("keep %d: hashes of levels %v, of the run %s", keep, hashes, w.run.Meta.DatasetSHA256)
		}
	}
}

// An error of Renew ends the run like an error of the data.
func TestRenewFails(t *testing.T) {
	_, res, _, err := record(t, ok(10*time.Millisecond), Config{
		Levels: load.Closed(1, 2), Measure: window.Measure{Requests: 3},
		Renew: func(_ context.Context, level int) (Renewal, error) {
			if level == 1 {
				return Renewal{}, fmt.Errorf("no space left on device")
			}
			return Renewal{}, nil
		},
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "concurrency 2: input data that could be read before: no space left on device") || len(res.Levels) != 1 {
		t.Errorf("error %v, result %+v", err, res)
	}
}
