package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// times returns when each request began, by what it asked, in ms since the start of the level.
func times(w *memWriter) map[string]int {
	at := map[string]int{}
	for _, r := range w.requests {
		at[string(r.Inputs[0].Value.Data)] = int((r.StartNS - w.experiments[0].Meta.StartNS) / 1e6)
	}
	return at
}

// Sessions are played in each load mode. Answers take 100 ms.
func TestSessionModes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		level load.Level
		data  workload.List
		want  map[string]int // start of each request
		held  int            // requests that were held back
		late  int            // requests with an instant that is judged
	}{
		{
			name: "one request in flight: a slot serves others while a session thinks, and due requests come first", level: load.SessionRequests{N: 1},
			data: turns("aabbcc", 250), held: 2,
			// a thinks until 350. c begins at 300, as nothing is due then; a waits for it.
			want: map[string]int{"q1": 0, "q3": 100, "q3 a q4": 200, "q5": 300, "q1 a q2": 400, "q5 a q6": 500},
		},
		{
			name: "two requests in flight", level: load.SessionRequests{N: 2}, data: turns("aabcc", 150), late: 1,
			want: map[string]int{"q1": 0, "q3": 0, "q4": 100, "q4 a q5": 200, "q1 a q2": 250},
		},
		{
			name: "a ramp", level: load.SessionRequests{N: 2, RampUp: time.Second}, data: turns("abcdefg"),
			want: map[string]int{"q1": 0, "q2": 100, "q3": 200, "q4": 300, "q5": 400, "q6": 500, "q7": 500},
		},
		{
			name: "a rate", level: load.SessionRate{Rate: load.Rate{PerSecond: 20}}, data: turns("aabc", 30), late: 4,
			want: map[string]int{"q1": 50, "q3": 100, "q4": 150, "q1 a q2": 180},
		},
		{
			name: "a rate with a ceiling of sessions", level: load.SessionRate{Rate: load.Rate{PerSecond: 20, Ceiling: 1}}, data: turns("aabc", 30), held: 2, late: 2,
			want: map[string]int{"q1": 50, "q1 a q2": 180, "q3": 280, "q4": 380},
		},
		{
			name: "own start times, twice as fast", level: load.SessionTimetable{Timetable: load.Timetable{Offsets: []time.Duration{5 * time.Second, 5200 * time.Millisecond, 6 * time.Second}, Speed: 2}},
			data: turns("aabc", 30), late: 4,
			want: map[string]int{"q1": 0, "q1 a q2": 130, "q3": 100, "q4": 500},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, res, _, err := recordSessions(t, ok(100*time.Millisecond), Config{Entries: tt.data, Levels: []load.Level{tt.level}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := times(w); tt.level.Traits().RampUp > 0 {
				// The second slot begins in the middle of the ramp.
				if at := slices.Sorted(maps.Values(got)); !slices.Equal(at, slices.Sorted(maps.Values(tt.want))) {
					t.Errorf("requests began at %v, want %v", at, tt.want)
				}
			} else if !maps.Equal(got, tt.want) {
				t.Errorf("requests began at %v, want %v", got, tt.want)
			}
			e := w.experiments[0]
			sessions := &export.SessionCounts{Begun: len(number(tt.data)), Completed: len(number(tt.data))}
			if e.Meta.Load != tt.level.String() || e.Mode != tt.level.Mode() || *e.Meta.Sessions != *sessions || *res.Levels[0].Sessions != *sessions {
				t.Errorf("experiment %s %q with %+v, want %s %q with %+v", e.Mode, e.Meta.Load, e.Meta.Sessions, tt.level.Mode(), tt.level, sessions)
			}
			if c := e.Meta.Client; tt.level.Traits().RampUp == 0 && (c.HeldBack != tt.held || tt.late > 0 && (c.Lateness == nil || c.Lateness.N != tt.late || c.Lateness.MaxNS > 1000)) {
				t.Errorf("%d held back, lateness %+v; want %d, and %d on time", c.HeldBack, c.Lateness, tt.held, tt.late)
			}
		})
	}
}

// number counts the turns of each session.
func number(l workload.List) map[string]int {
	n := map[string]int{}
	for _, e := range l {
		n[e.Session]++
	}
	return n
}

// A request count sends the same requests in every mode, at every level: the requests of the first sessions. It cuts
// off the last session, and the data begins again.
func TestSessionRequestCount(t *testing.T) {
	asked := func(level load.Level, warmup int) (got []string, res *Result) {
		w, res, _, err := recordSessions(t, ok(100*time.Millisecond), Config{Entries: turns("aaabbc"), Levels: []load.Level{level}, Warmup: warmup, Measure: window.Measure{Requests: 10 - warmup}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.requests {
			got = append(got, string(r.Inputs[0].Value.Data))
		}
		slices.Sort(got)
		return got, res
	}
	want := []string{"q1", "q1", "q1 a q2", "q1 a q2", "q1 a q2 a q3", "q1 a q2 a q3", "q4", "q4", "q4 a q5", "q6"}
	for _, level := range []load.Level{load.Sessions{N: 1}, load.Sessions{N: 3}, load.SessionRequests{N: 1}, load.SessionRequests{N: 3}, load.SessionRate{Rate: load.Rate{PerSecond: 100}}} {
		for _, warmup := range []int{0, 4} {
			if got, res := asked(level, warmup); !slices.Equal(got, want) || res.Levels[0].OK != 10-warmup || res.Levels[0].Warmup != warmup || len(res.Levels[0].Warnings) > 0 {
				t.Errorf("%v: %d measured, %d of warm-up, %q, warnings %q; want %d, %d, %q", level, res.Levels[0].OK, res.Levels[0].Warmup, got, res.Levels[0].Warnings, 10-warmup, warmup, want)
			}
		}
	}
}

// Levels of sessions of any mode follow each other in one run. Each begins with the session after the ones that were played.
func TestSessionLevels(t *testing.T) {
	w, res, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: turns("aabcdef"), Measure: window.Measure{Times: 2},
		Levels: []load.Level{load.Sessions{N: 1}, load.Sessions{N: 2}, load.SessionRequests{N: 1}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	slices.SortFunc(w.requests, func(a, b export.Request) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(string(a.Inputs[0].Value.Data), string(b.Inputs[0].Value.Data)))
	})
	for _, r := range w.requests {
		got = append(got, string(r.Inputs[0].Value.Data))
	}
	// Two requests, four, two; 2 turns, 4 sessions, then the last one and the first again.
	if want := "q1|q1 a q2|q3|q4|q5|q6|q7|q1"; strings.Join(got, "|") != want || len(res.Levels) != 3 {
		t.Errorf("%d levels asked %s, want 3, %s", len(res.Levels), strings.Join(got, "|"), want)
	}
	// A latency limit searches among them.
	_, res, _, err = recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: turns("aabcdef"), Measure: window.Measure{Requests: 3, LatencyLimit: 50 * time.Millisecond},
		Plan: LinearSearch(func(i int) (load.Level, bool) { return load.Sessions{N: i + 1}, true }),
	}, nil)
	if err != nil || len(res.Levels) != 1 || !res.Levels[0].OverLimit {
		t.Errorf("a search: %d levels, %v; want 1, over the limit", len(res.Levels), err)
	}
}

// With a duration the sessions of a rate go on until it is over, from the first one again; what the end cut off is counted.
func TestSessionRateForAWhile(t *testing.T) {
	w, res, _, err := recordSessions(t, ok(300*time.Millisecond), Config{
		Entries: turns("aab"), Levels: []load.Level{load.SessionRate{Rate: load.Rate{PerSecond: 10}}}, WarmupTime: 450 * time.Millisecond, Measure: window.Measure{Duration: time.Second},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := res.Levels[0]
	if l.Warmup == 0 || l.OK == 0 || l.OK+l.Warmup+l.Late != len(w.requests) {
		t.Errorf("%d of warm-up, %d measured, %d late of %d", l.Warmup, l.OK, l.Late, len(w.requests))
	}
	c := l.Sessions
	if c.Begun != 14 || c.Completed+c.Cut != 14 || c.Cut == 0 || c.NotSent.End != c.Cut || c.Failed+c.Overflow+c.Unanswered > 0 {
		t.Errorf("%+v; want 14 sessions, and the last ones cut, each by a turn", c)
	}
	for _, r := range w.requests {
		if want := r.ScheduledNS < w.experiments[0].Meta.StartNS+uint64(450*time.Millisecond); r.Turn == 0 && want != (r.Phase == export.PhaseWarmup) {
			t.Errorf("the session due at %v has phase %v", time.Duration(r.ScheduledNS-w.experiments[0].Meta.StartNS), r.Phase)
		}
	}
}

// What a failed request does to its session.
func TestSessionFailures(t *testing.T) {
	fails := func(id uint64, status export.Status) func(uint64) answer {
		return func(n uint64) answer {
			if n == id {
				return answer{after: time.Millisecond, status: status, msg: "no"}
			}
			return answer{after: 100 * time.Millisecond, status: export.StatusOK}
		}
	}
	join := graph(node(), node(workload.Edge{From: 0}), node(workload.Edge{From: 0, Delay: 50 * time.Millisecond}), workload.Node{Continues: 1, After: []workload.Edge{{From: 1}, {From: 2}}})
	chain := graph(node(), next(0, 0), next(1, 0), next(2, 0))
	for _, tt := range []struct {
		name     string
		of       graphs
		answers  func(uint64) answer
		go_on    bool
		asked    string
		counts   export.SessionCounts
		warnings []string
	}{
		{"stop", chain, fails(2, export.StatusHTTPError), false, "q0|q0 a q1", export.SessionCounts{Begun: 1, Failed: 1, NotSent: export.NotSent{Failed: 2}}, []string{"2 turns were not sent, because an earlier turn failed in 1 conversation"}},
		{"continue", chain, fails(2, export.StatusHTTPError), true, "q0|q0 a q1|q0 a q1q2|q0 a q1q2 a q3", export.SessionCounts{Begun: 1, Completed: 1, Unanswered: 1}, []string{"1 turn was sent without the previous answer, because its request failed (--on-session-failure continue)"}},
		{"continue after a failed child", join, fails(2, export.StatusTimeout), true, "q0|q1|q1q3|q2", export.SessionCounts{Begun: 1, Completed: 1, Unanswered: 1}, []string{"1 turn was sent without the previous answer, because its request failed (--on-session-failure continue)"}},
		{"continue after the last one", chain, fails(4, export.StatusHTTPError), true, "q0|q0 a q1|q0 a q1 a q2|q0 a q1 a q2 a q3", export.SessionCounts{Begun: 1, Completed: 1}, nil},
		{"a context overflow stops", chain, fails(3, export.StatusContextOverflow), false, "q0|q0 a q1|q0 a q1 a q2", export.SessionCounts{Begun: 1, Overflow: 1, NotSent: export.NotSent{Overflow: 1}}, []string{"1 turn was not sent, because an earlier turn was longer than the context of the model in 1 conversation"}},
		{"a context overflow never continues", chain, fails(3, export.StatusContextOverflow), true, "q0|q0 a q1|q0 a q1 a q2", export.SessionCounts{Begun: 1, Overflow: 1, NotSent: export.NotSent{Overflow: 1}}, []string{"1 turn was not sent, because an earlier turn was longer than the context of the model in 1 conversation"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, level := range []load.Level{load.Sessions{N: 1}, load.SessionRequests{N: 2}, load.SessionRate{Rate: load.Rate{PerSecond: 10}}} {
				w, res, _, err := recordSessions(t, tt.answers, Config{Entries: tt.of, Levels: []load.Level{level}, ContinueFailed: tt.go_on}, nil)
				if err != nil {
					t.Fatal(err)
				}
				var asked []string
				for _, r := range w.requests {
					asked = append(asked, string(r.Inputs[0].Value.Data))
				}
				slices.Sort(asked)
				l := res.Levels[0]
				if got := strings.Join(asked, "|"); got != tt.asked || *l.Sessions != tt.counts || !slices.Equal(l.Warnings, tt.warnings) {
					t.Errorf("%v: asked %s, %+v, warnings %q; want %s, %+v, %q", level, got, *l.Sessions, l.Warnings, tt.asked, tt.counts, tt.warnings)
				}
				if overflows := tt.counts.Overflow; l.Overflowed != overflows {
					t.Errorf("%v: %d requests too long, want %d", level, l.Overflowed, overflows)
				}
			}
		})
	}
}

// After failures in a row, a session that goes on waits longer and longer.
func TestSessionContinuesSlowly(t *testing.T) {
	answers := func(id uint64) answer {
		return answer{status: map[bool]export.Status{true: export.StatusOK, false: export.StatusHTTPError}[id == 1]}
	}
	chain := []workload.Node{node()}
	for i := range 8 {
		chain = append(chain, next(i, 0))
	}
	_, _, took, err := recordSessions(t, answers, Config{Entries: graph(chain...), Levels: []load.Level{load.Sessions{N: 1}}, ContinueFailed: true}, nil)
	// 8 failures: 10, 20, 40, … 640 ms after all but the first one.
	if err != nil || took < 1270*time.Millisecond {
		t.Errorf("took %v, %v; want at least 1.27 s", took, err)
	}
}

// Too many context overflows end the run. They are failures too.
func TestMaxOverflowRate(t *testing.T) {
	answers := func(id uint64) answer {
		switch id % 10 {
		case 0:
			return answer{after: time.Millisecond, status: export.StatusContextOverflow, msg: "the prompt is too long"}
		case 5:
			return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "no"}
		}
		return answer{after: time.Millisecond, status: export.StatusOK}
	}
	run := func(limit float64, n int) (*Result, error) {
		_, res, _, err := recordSessions(t, answers, Config{Entries: turns("abcdefg"), Levels: []load.Level{load.Sessions{N: 1}}, MaxOverflowRate: &limit, Measure: window.Measure{Requests: n}}, nil)
		return res, err
	}
	res, err := run(0.05, 100)
	var tooMany *OverflowRateError
	const want = "session concurrency 1: 2 of 20 requests did not fit into the context of the model, 10%, more than the 5% allowed; the server says: the prompt is too long"
	if !errors.As(err, &tooMany) || err.Error() != want || res.Levels[0].Overflowed != 2 || res.Levels[0].Failed != 4 {
		t.Errorf("%v, %+v; want %s", err, res.Levels[0], want)
	}
	if res, err := run(0.1, 100); err != nil || res.Levels[0].Overflowed != 10 || res.Levels[0].Failed != 20 {
		t.Errorf("%v, %d overflows of %d failures; want 10 of 20", err, res.Levels[0].Overflowed, res.Levels[0].Failed)
	}
	if _, err := run(0.05, 11); !errors.As(err, &tooMany) {
		t.Errorf("at the end of a short level: %v", err)
	}
}

// randomGraph makes a session of n nodes with edges of all kinds.
func randomGraph(r *rand.Rand, n int) graphs {
	var nodes []workload.Node
	for i := range n {
		nd := workload.Node{Continues: -1}
		for range min(i, r.IntN(4)) {
			nd.After = append(nd.After, workload.Edge{From: r.IntN(i), Anchor: workload.Anchor(r.IntN(3)), Delay: time.Duration(r.IntN(3)*r.IntN(40)) * time.Millisecond})
		}
		if i > 0 && r.IntN(2) == 0 {
			nd.Continues = r.IntN(i)
			nd.After = append(nd.After, workload.Edge{From: nd.Continues})
		}
		nodes = append(nodes, nd)
	}
	g := graph(nodes...)
	for i := range g.List {
		g.List[i].Delay = time.Duration(r.IntN(2)*r.IntN(30)) * time.Millisecond
	}
	return g
}

// In random graphs each request begins exactly when the last of its edges says, in every mode with enough slots: so a join waits
// for its last child, and no delay is shortened. A turn has the messages of the one that it continues, and its answer, before
// its own. The modes send the same.
func TestRandomGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 42))
	for range 150 {
		g := randomGraph(r, 1+r.IntN(12))
		takes := make([]time.Duration, len(g.List)+1) // by id
		for i := range takes {
			takes[i] = time.Duration(2*(1+r.IntN(50))) * time.Millisecond
		}
		answers := func(id uint64) answer { return answer{after: takes[id], status: export.StatusOK, responses: 2} }
		for _, level := range []load.Level{load.Sessions{N: 1}, load.SessionRequests{N: 20}, load.SessionRate{Rate: load.Rate{PerSecond: 1}}} {
			w, _, _, err := recordSessions(t, answers, Config{Entries: g, Levels: []load.Level{level}}, nil)
			if err != nil || len(w.requests) != len(g.List) {
				t.Fatalf("%v: %d of %d requests, %v", level, len(w.requests), len(g.List), err)
			}
			sent := make([]*export.Request, len(g.List))
			for i := range w.requests {
				sent[w.requests[i].Turn] = &w.requests[i]
			}
			for i, n := range g.nodes {
				due := uint64(0)
				for _, e := range n.After {
					from := sent[e.From]
					at := from.StartNS
					switch e.Anchor {
					case workload.AfterFirstToken:
						at = from.Responses[0].RecvNS
					case workload.AfterEnd:
						at = from.Responses[1].RecvNS + uint64(g.List[e.From].Delay)
					}
					due = max(due, at+uint64(e.Delay))
				}
				if len(n.After) == 0 {
					due = sent[0].StartNS
				}
				asked := fmt.Sprint("q", i)
				if n.Continues >= 0 {
					asked = string(sent[n.Continues].Inputs[0].Value.Data) + " a " + asked
				}
				if off := int64(sent[i].StartNS) - int64(due); off < 0 || off > 1000 || string(sent[i].Inputs[0].Value.Data) != asked {
					t.Fatalf("%v: node %d of %+v began %d ns after it was due, with %q; want %q", level, i, g.nodes, off, sent[i].Inputs[0].Value.Data, asked)
				}
			}
		}
	}
}

// A large session takes time for each of its edges, not for each pair of nodes: 20,000 children that one request waits for.
func TestLargeSession(t *testing.T) {
	const children = 20_000
	nodes := []workload.Node{node()}
	last := workload.Node{Continues: 0, After: []workload.Edge{{From: 0}}}
	for i := range children {
		before := 0
		if i >= 50 {
			before = len(nodes) - 50
		}
		nodes = append(nodes, node(workload.Edge{From: before}))
		last.After = append(last.After, workload.Edge{From: i + 1})
	}
	nodes = append(nodes, last)
	w, res, took, err := recordSessions(t, ok(time.Millisecond), Config{Entries: graph(nodes...), Levels: []load.Level{load.Sessions{N: 1}}}, nil)
	if err != nil || res.Levels[0].OK != len(nodes) {
		t.Fatal(err)
	}
	if got := w.requests[len(w.requests)-1]; got.Turn != children+1 || took != 402*time.Millisecond {
		t.Errorf("the last request is %d after %v; want %d after 402ms", got.Turn, took, children+1)
	}
}

// The memory of a run does not grow with the sessions that were played.
func TestMemoryOfSessions(t *testing.T) {
	data := turns("aabbbc") // two turns each
	for _, level := range []load.Level{load.Sessions{N: 4}, load.SessionRequests{N: 4}, load.SessionRate{Rate: load.Rate{PerSecond: 1000}}} {
		w := &heapWriter{at: []int{200, 20_000}}
		_, _, err := recordTo(t, w, ok(time.Millisecond), Config{Backend: &fakeTalker{}, Entries: data, Levels: []load.Level{level}, Warmup: 19_999, Measure: window.Measure{Requests: 1}}, nil) // latencies of a warm-up are not kept
		if err != nil || len(w.live) != 2 {
			t.Fatalf("%d looks, %v", len(w.live), err)
		}
		if grown := float64(w.live[1]-w.live[0]) / 9900; grown > 20 {
			t.Errorf("%v: %.0f bytes per session that was played, want none", level, grown)
		}
	}
}

// A heapWriter looks at the memory in use when it has been given so many requests.
type heapWriter struct {
	memWriter
	at   []int
	seen int
	live []int64
}

func (w *heapWriter) WriteRequest(*export.Request) error {
	if w.seen++; slices.Contains(w.at, w.seen) {
		w.live = append(w.live, liveHeap())
	}
	return nil
}

// A signal ends sessions that wait for a worker, an instant or each other.
func TestSessionModesStop(t *testing.T) {
	for _, level := range []load.Level{load.SessionRequests{N: 1}, load.SessionRequests{N: 2, RampUp: time.Hour}, load.SessionRate{Rate: load.Rate{PerSecond: 2, Ceiling: 1}}, load.SessionTimetable{Timetable: load.Timetable{Offsets: []time.Duration{0, time.Hour}}}} {
		_, res, took, err := recordSessions(t, ok(time.Second), Config{Entries: turns("aab", 7_200_000), Levels: []load.Level{level}}, func(stop chan struct{}, _ context.CancelFunc) {
			time.Sleep(10 * time.Second)
			close(stop)
		})
		if err != nil || !res.Interrupted || took != 10*time.Second || res.Levels[0].Sessions.Cut == 0 {
			t.Errorf("%v: %v, %v, %+v", level, took, err, res.Levels[0].Sessions)
		}
	}
}
