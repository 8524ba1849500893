package recorder

import (
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

// recordings are sessions with recorded times, whose requests hold their history.
type recordings struct {
	ids   []string
	nodes []workload.Node
}

func (r recordings) Len() int                         { return len(r.ids) * len(r.nodes) }
func (r recordings) At(k int) (workload.Entry, error) { return r.entry(k/len(r.nodes), k%len(r.nodes)) }
func (r recordings) Sessions() int                    { return len(r.ids) }

func (r recordings) entry(k, i int) (workload.Entry, error) {
	text := fmt.Sprintf(`[{"role":"user","content":"%s%d"}]`, r.ids[k], i)
	return workload.Entry{Step: i, Session: r.ids[k], Turn: i, Whole: true, Prompt: &workload.Prompt{Messages: []byte(text), MaxTokens: 9}}, nil
}

func (r recordings) Outline(k int) workload.Outline {
	return workload.Outline{ID: r.ids[k], Requests: len(r.nodes)}
}

func (r recordings) Open(k int) (*workload.Session, error) {
	return &workload.Session{
		ID: r.ids[k], Nodes: r.nodes, Recorded: true, Agents: []workload.Agent{{Parent: -1}, {ID: "a", Kind: workload.Spawned}},
		Entry: func(i int) (workload.Entry, error) { return r.entry(k, i) },
	}, nil
}

// spoken are four requests of a root, a second each, every ten seconds; a sub-agent has two more beside the second and third.
func spoken() []workload.Node {
	const s = time.Second
	at := func(start time.Duration) workload.Span {
		return workload.Span{Known: true, Ended: true, Start: start, End: start + s}
	}
	return []workload.Node{
		{Continues: -1, Past: at(0)},
		{Continues: -1, Past: at(10 * s), After: []workload.Edge{{From: 0, Delay: 9 * s}}},
		{Continues: -1, Past: at(12 * s), Agent: 1, After: []workload.Edge{{From: 1, Delay: s}}},
		{Continues: -1, Past: at(20 * s), After: []workload.Edge{{From: 1, Delay: 9 * s}}},
		{Continues: -1, Past: at(25 * s), Agent: 1, After: []workload.Edge{{From: 2, Delay: 12 * s}}},
		{Continues: -1, Past: at(30 * s), After: []workload.Edge{{From: 3, Delay: 9 * s}, {From: 4, Delay: 4 * s}}},
	}
}

// sentAs returns the requests in the order of their starts: when since the start of the level, what and in which phase.
func sentAs(w *memWriter) (all []string) {
	requests := slices.Clone(w.requests)
	slices.SortFunc(requests, func(a, b export.Request) int {
		if a.StartNS != b.StartNS {
			return int(a.StartNS) - int(b.StartNS)
		}
		return strings.Compare(a.SessionID+fmt.Sprint(a.Turn), b.SessionID+fmt.Sprint(b.Turn))
	})
	for _, r := range requests {
		at := time.Duration(r.StartNS - w.experiments[0].Meta.StartNS)
		all = append(all, fmt.Sprintf("%v %s%d %v", at, r.SessionID, r.Turn, r.Phase))
	}
	return all
}

// The first session of each slot begins within its recording, the next ones at their beginning.
func TestSessionStarts(t *testing.T) {
	w, res, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: recordings{[]string{"x", "y"}, spoken()}, Levels: []load.Level{load.Sessions{N: 1}},
		Starts: &workload.Starts{Min: 14. / 31, Max: 14. / 31}, Measure: window.Measure{Duration: 30 * time.Second},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0s x1 warmup", "0s x2 warmup", // the last requests before the instant 14 s
		"6.1s x3 measured", "11.1s x4 measured", "15.2s x5 measured",
		"15.3s y0 measured", "24.4s y1 measured", "25.5s y2 measured",
	}
	if got := sentAs(w); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	l := res.Levels[0]
	if want := (export.SessionCounts{Begun: 2, Completed: 1, Cut: 1, NotSent: export.NotSent{End: 3}}); *l.Sessions != want {
		t.Errorf("sessions %+v, want %+v", *l.Sessions, want)
	}
	for _, r := range w.requests {
		if r.Phase == export.PhaseMeasured && r.ScheduledNS > r.StartNS {
			t.Errorf("request %d of %s was sent before it was due", r.Turn, r.SessionID)
		}
	}
}

// Under pressure sessions go on without delays; the measurement goes on where they have come to.
func TestCachePressure(t *testing.T) {
	w, _, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: recordings{[]string{"x", "y"}, spoken()}, Levels: []load.Level{load.Sessions{N: 1}},
		Starts: &workload.Starts{Min: 14. / 31, Max: 14. / 31, Pressure: 350 * time.Millisecond}, Measure: window.Measure{Duration: 20 * time.Second},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0s x1 warmup", "0s x2 warmup", "100ms x3 warmup", "100ms x4 warmup", "200ms x5 warmup", "300ms y0 warmup", "400ms y1 warmup",
		"1.5s y2 measured", "9.5s y3 measured", "13.6s y4 measured", "18.6s y5 measured", "18.7s x#20 measured",
	}
	if got := sentAs(w); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// A request before the measurement that fails is not sent again. One of the root ends the run.
func TestSessionStartsFail(t *testing.T) {
	fails := func(id uint64) func(uint64) answer {
		return func(n uint64) answer {
			if n == id {
				return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "no memory"}
			}
			return answer{after: time.Millisecond, status: export.StatusOK}
		}
	}
	// Both requests are sent at the same time, so that either may be the first one: one of the root, or one of the sub-agent.
	failed, unprimed := map[string]bool{}, false
	for n := uint64(0); n < 1000 && (len(failed) == 0 || !unprimed); n++ {
		_, res, _, err := recordSessions(t, fails(n%2+1), Config{
			Entries: recordings{[]string{"x"}, spoken()}, Levels: []load.Level{load.Sessions{N: 1}}, Starts: &workload.Starts{Min: 14. / 31, Max: 14. / 31},
		}, nil)
		if err != nil {
			failed[err.Error()] = true
			continue
		}
		unprimed = true
		if l := res.Levels[0]; l.Sessions.Unprimed != 1 || l.OK != 3 {
			t.Errorf("%d ok, %+v; want 3 and one that failed before", l.OK, l.Sessions)
		}
	}
	if want := `session "x": its request before the measurement failed: no memory; the session cannot begin within its recording`; len(failed) != 1 || !failed[want] || !unprimed {
		t.Errorf("errors %v, want %s and runs without one: %v", failed, want, unprimed)
	}
}

// Sessions without recorded starts, or whose requests need live answers, cannot begin within recordings; nor can other loads.
func TestSessionStartsRefused(t *testing.T) {
	within := &workload.Starts{Max: 1}
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"live answers", Config{Entries: turns("aab"), Starts: within}, "do not hold their history"},
		{"no times", Config{Entries: recordings{[]string{"x"}, make([]workload.Node, 1)}, Starts: within}, "it has no recorded start"},
		{"another load", Config{Entries: turns("aab"), Starts: within, Levels: []load.Level{load.SessionRequests{N: 1}}}, "only a number of sessions at a time can start within recordings"},
		{"a warm-up", Config{Entries: turns("aab"), Starts: within, WarmupTime: 1}, "have a warm-up of their own"},
		{"a wrong part", Config{Entries: turns("aab"), Starts: &workload.Starts{Max: 2}}, "expected two parts from 0 to 1"},
		{"a window with two ends", Config{Entries: turns("aab"), RefillWindow: true, Measure: window.Measure{Duration: 1}}, "exclude each other"},
	} {
		if tt.cfg.Levels == nil {
			tt.cfg.Levels = []load.Level{load.Sessions{N: 1}}
		}
		if _, _, _, err := recordSessions(t, ok(0), tt.cfg, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Each play of a session has a marker of its own, which all its requests have, also those before the measurement.
func TestSessionMarkers(t *testing.T) {
	w, _, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: recordings{[]string{"x"}, spoken()}, Levels: []load.Level{load.Sessions{N: 2}}, Marker: &workload.Marker{Salt: "here"},
		Starts: &workload.Starts{Min: 14. / 31, Max: 14. / 31}, Measure: window.Measure{Duration: time.Minute},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	plays, all := map[string]string{}, map[string]bool{}
	for _, r := range w.requests {
		text := string(r.Inputs[0].Value.Data)
		_, after, _ := strings.Cut(text, "[rid:")
		marker, _, ok := strings.Cut(after, "]")
		if before := plays[r.SessionID]; !ok || before != "" && before != marker {
			t.Errorf("request %d of %s is %s; the marker before was %q", r.Turn, r.SessionID, text, before)
		}
		plays[r.SessionID], all[marker] = marker, true
	}
	if len(plays) < 4 || len(all) != len(plays) {
		t.Errorf("%d plays with %d markers, want as many, and at least 4", len(plays), len(all))
	}
}

// The measurement ends when the first slot finds no session left, and what ends later is not in it.
func TestRefillWindow(t *testing.T) {
	w, _, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: turns("abbbcc"), Levels: []load.Level{load.Sessions{N: 2}}, RefillWindow: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// a ends after 100 ms and c follows until 300 ms, as b does.
	if got := sentAs(w); len(got) != 6 {
		t.Errorf("sent %q", got)
	}
	w, res, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: turns("abbbbc"), Levels: []load.Level{load.Sessions{N: 2}}, RefillWindow: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0s a0 measured", "0s b0 measured", "100ms b1 measured", "100ms c0 measured", "200ms b2 cooldown"}
	if got := sentAs(w); !slices.Equal(got, want) && !slices.Equal(got, want[:4]) {
		t.Errorf("sent %q, want %q", got, want)
	}
	l := res.Levels[0]
	if len(l.Windows) != 1 || l.Windows[0].EndNS-l.Windows[0].StartNS != uint64(200*time.Millisecond) || l.Windows[0].Requests != 4 {
		t.Errorf("windows %+v, want one of 200ms with 4 requests", l.Windows)
	}
}
