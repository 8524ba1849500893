package recorder

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// graphs is a workload of one session, which is played again and again.
type graphs struct {
	workload.List
	nodes []workload.Node
}

// graph makes a workload of one session. Node i asks "q<i>".
func graph(nodes ...workload.Node) graphs {
	g := graphs{nodes: nodes}
	for i := range nodes {
		g.List = append(g.List, workload.Entry{Step: i, Session: "s", Turn: i})
	}
	return g
}

func (g graphs) Sessions() int { return 1 }

func (g graphs) Outline(int) workload.Outline {
	return workload.Outline{ID: "s", Requests: len(g.nodes)}
}

func (g graphs) Open(int) (*workload.Session, error) {
	return &workload.Session{ID: "s", Nodes: g.nodes, Entry: g.At}, nil
}

// node returns a node that begins a conversation, after the edges.
func node(after ...workload.Edge) workload.Node { return workload.Node{After: after, Continues: -1} }

// next returns a node that continues another one.
func next(before int, delay time.Duration) workload.Node {
	return workload.Node{After: []workload.Edge{{From: before, Delay: delay}}, Continues: before}
}

// Each request of a session is sent when all requests that it waits for have come as far as its edges say. Answers
// take 100 ms and have two parts.
func TestSessionGraphs(t *testing.T) {
	const ms = time.Millisecond
	type sent struct {
		at    time.Duration
		asked string
	}
	for _, tt := range []struct {
		name string
		of   graphs
		want []sent // by node
	}{
		{"a chain", graph(node(), next(0, 0), next(1, 50*ms)), []sent{{0, "q0"}, {100 * ms, "q0 a q1"}, {250 * ms, "q0 a q1 a q2"}}},
		{"a fork", graph(node(), next(0, 10*ms), next(0, 0)), []sent{{0, "q0"}, {110 * ms, "q0 a q1"}, {100 * ms, "q0 a q2"}}},
		{"forks go on by themselves", graph(node(), next(0, 0), next(0, 0), next(1, 0), next(2, 0)), []sent{{0, "q0"}, {100 * ms, "q0 a q1"}, {100 * ms, "q0 a q2"}, {200 * ms, "q0 a q1 a q3"}, {200 * ms, "q0 a q2 a q4"}}},
		{
			"a join waits for its last child",
			graph(node(), node(workload.Edge{From: 0, Delay: 70 * ms}), node(workload.Edge{From: 0}), workload.Node{Continues: 0, After: []workload.Edge{{From: 0}, {From: 1}, {From: 2, Delay: 20 * ms}}}),
			[]sent{{0, "q0"}, {170 * ms, "q1"}, {100 * ms, "q2"}, {270 * ms, "q0 a q3"}},
		},
		{"after the start", graph(node(), node(workload.Edge{From: 0, Anchor: workload.AfterStart, Delay: 30 * ms})), []sent{{0, "q0"}, {30 * ms, "q1"}}},
		{"after the first token", graph(node(), node(workload.Edge{From: 0, Anchor: workload.AfterFirstToken, Delay: 5 * ms})), []sent{{0, "q0"}, {55 * ms, "q1"}}},
		{"two beginnings", graph(node(), node()), []sent{{0, "q0"}, {0, "q1"}}},
		{"in the background", graph(node(), node(workload.Edge{From: 0, Delay: 500 * ms}), next(0, 0)), []sent{{0, "q0"}, {600 * ms, "q1"}, {100 * ms, "q0 a q2"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := func(uint64) answer { return answer{after: 100 * ms, status: export.StatusOK, responses: 2} }
			w, res, took, err := recordSessions(t, answers, Config{Entries: tt.of, Levels: []load.Level{load.Sessions{N: 1}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]sent, len(tt.want))
			last := time.Duration(0)
			for _, r := range w.requests {
				got[r.Turn] = sent{time.Duration(r.StartNS - w.experiments[0].Meta.StartNS), string(r.Inputs[0].Value.Data)}
				last = max(last, got[r.Turn].at)
			}
			if !slices.Equal(got, tt.want) || res.Levels[0].OK != len(tt.want) || took != last+100*ms {
				t.Errorf("sent %v, %d ok, took %v; want %v", got, res.Levels[0].OK, took, tt.want)
			}
		})
	}
}

// A failure ends the whole session: requests in flight go on to their end, and nothing more is sent.
func TestSessionGraphBreaksOff(t *testing.T) {
	const ms = time.Millisecond
	answers := func(id uint64) answer {
		if id == 3 {
			return answer{after: 10 * ms, status: export.StatusHTTPError, msg: "too long"}
		}
		return answer{after: 100 * ms, status: export.StatusOK}
	}
	of := graph(node(), node(workload.Edge{From: 0}), node(workload.Edge{From: 0, Delay: 20 * ms}), next(1, 0), node(workload.Edge{From: 0, Delay: time.Hour}))
	_, res, took, err := recordSessions(t, answers, Config{Entries: of, Levels: []load.Level{load.Sessions{N: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "2 turns were not sent, because an earlier turn failed in 1 conversation"
	if l := res.Levels[0]; l.OK != 2 || l.Failed != 1 || !slices.Equal(l.Warnings, []string{want}) || took != 200*ms {
		t.Errorf("%d ok, %d failed, warnings %q in %v; want 2, 1, %q in 200ms", l.OK, l.Failed, l.Warnings, took, want)
	}
}

// The end of the load ends a session with several branches.
func TestSessionGraphStops(t *testing.T) {
	of := graph(node(), node(workload.Edge{From: 0, Delay: time.Hour}), node(workload.Edge{From: 0, Delay: time.Minute}), next(0, 0))
	_, res, took, err := recordSessions(t, ok(time.Second), Config{
		Entries: of, Levels: []load.Level{load.Sessions{N: 1}}, Measure: window.Measure{Duration: 10 * time.Second},
	}, nil)
	if l := res.Levels[0]; err != nil || l.OK != 2 || took != 10*time.Second {
		t.Errorf("%d ok in %v, %v; want 2 in 10s", l.OK, took, err)
	}
}

// slowGraphs are graphs whose requests take time to read.
type slowGraphs struct{ graphs }

func (g slowGraphs) Open(k int) (*workload.Session, error) {
	s, err := g.graphs.Open(k)
	s.Entry = func(i int) (workload.Entry, error) {
		time.Sleep(30 * time.Millisecond)
		return g.At(i)
	}
	return s, err
}

// A request is sent when it is due, even if it takes long to make: it is made while the requests before it are in flight.
func TestSessionGraphsAreReady(t *testing.T) {
	const ms = time.Millisecond
	// At most one request is made at a time: who waits for a mutex keeps the time of the test from going on.
	of := graph(node(), node(workload.Edge{From: 0}), next(1, 0), node(workload.Edge{From: 2, Anchor: workload.AfterFirstToken}), node(workload.Edge{From: 3, Delay: 10 * ms}))
	answers := func(uint64) answer { return answer{after: 100 * ms, status: export.StatusOK, responses: 2} }
	w, _, _, err := recordSessions(t, answers, Config{Entries: slowGraphs{of}, Levels: []load.Level{load.Sessions{N: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]time.Duration, len(of.List))
	for _, r := range w.requests {
		got[r.Turn] = time.Duration(r.StartNS - w.experiments[0].Meta.StartNS)
	}
	first := got[0] // the first one is made when the session begins
	if want := []time.Duration{first, first + 100*ms, first + 200*ms, first + 250*ms, first + 360*ms}; !slices.Equal(got, want) {
		t.Errorf("sent at %v, want %v", got, want)
	}
}

// A request quotes the answers to others, in places of its messages.
func TestSessionGraphQuotes(t *testing.T) {
	of := graph(node(), node(), workload.Node{Continues: -1, Quotes: []int{1, 0}, After: []workload.Edge{{From: 0}, {From: 1}}}, next(2, 0))
	of.List[2].Prompt = &workload.Prompt{Messages: []byte("x " + workload.AnswerPlace(0) + " y " + workload.AnswerPlace(1) + " " + workload.AnswerPlace(0) + workload.AnswerPlace(3))}
	w, _, _, err := recordSessions(t, ok(time.Second), Config{Entries: of, Levels: []load.Level{load.Sessions{N: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const asked = `x \"q0 a \" y \"q1 a \" \"q0 a \"{{answer of request 3}}`
	want := map[int]string{0: "q0", 1: "q1", 2: asked, 3: asked + " a q3"}
	for _, r := range w.requests {
		if got := string(r.Inputs[0].Value.Data); got != want[r.Turn] {
			t.Errorf("request %d is %q, want %q", r.Turn, got, want[r.Turn])
		}
	}
	if len(w.requests) != 4 {
		t.Errorf("%d requests, want 4", len(w.requests))
	}
}

// A delay that is longer than any run is waited for: the request is not sent at once.
func TestSessionLongestDelay(t *testing.T) {
	for _, delay := range []time.Duration{math.MaxInt64, math.MaxInt64 / 2} {
		of := graph(node(), next(0, delay))
		of.List[0].Delay = delay
		answers := func(uint64) answer { return answer{after: time.Millisecond, status: export.StatusOK, responses: 1} }
		_, res, _, err := recordSessions(t, answers, Config{Entries: of, Levels: []load.Level{load.Sessions{N: 1}}, Measure: window.Measure{Duration: time.Hour}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Levels[0].OK; got != 1 {
			t.Errorf("%d requests were sent with a delay of %v between them, want 1", got, delay)
		}
	}
}

// counted counts how often its entries are read.
type counted struct {
	graphs
	reads *atomic.Int32
}

func (c counted) Open(k int) (*workload.Session, error) {
	s, err := c.graphs.Open(k)
	s.Entry = func(i int) (workload.Entry, error) {
		c.reads.Add(1)
		return c.At(i)
	}
	return s, err
}

// Of many requests that wait for one, no more are prepared ahead than the memory for them allows.
func TestSessionManyAhead(t *testing.T) {
	nodes := []workload.Node{node()}
	for range 100 {
		nodes = append(nodes, node(workload.Edge{From: 0}))
	}
	of := counted{graph(nodes...), new(atomic.Int32)}
	answers := func(uint64) answer { return answer{after: time.Hour, status: export.StatusOK, responses: 1} }
	_, _, _, err := recordSessions(t, answers, Config{Entries: of, KeepBytes: 40, Levels: []load.Level{load.Sessions{N: 1}}, Measure: window.Measure{Duration: time.Second}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := of.reads.Load(); n > 20 {
		t.Errorf("%d requests were read while the first one was in flight, want a few", n)
	}
}
