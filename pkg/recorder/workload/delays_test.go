package workload

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// recording is Sessions of one session with recorded times.
type recording struct {
	List
	nodes []Node
}

func (r recording) Sessions() int       { return 1 }
func (r recording) Outline(int) Outline { return Outline{ID: "s", Requests: len(r.nodes)} }
func (r recording) Open(int) (*Session, error) {
	return &Session{ID: "s", Recorded: true, Nodes: r.nodes, Entry: r.At}, nil
}

// past is a recorded request in seconds, without an end if end is negative.
func past(start, end float64) Span {
	s := Span{Known: true, Start: seconds(start)}
	if end >= 0 {
		s.Ended, s.End = true, seconds(end)
	}
	return s
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// after is an edge with a delay in seconds.
func after(from int, anchor Anchor, delay float64) Edge {
	return Edge{From: from, Anchor: anchor, Delay: seconds(delay)}
}

// A session of a root with three turns and a sub-agent that runs beside the second one.
func treeOfFour() []Node {
	return []Node{
		{Continues: -1, Past: past(0, 2)},
		{Continues: -1, Past: past(30, 35), After: []Edge{after(0, AfterEnd, 28)}},
		{Continues: -1, Past: past(32, 50), Agent: 1, After: []Edge{after(1, AfterStart, 2)}},
		{Continues: -1, Past: past(54, 60), After: []Edge{after(1, AfterEnd, 19), after(2, AfterEnd, 4)}},
	}
}

func TestDelays(t *testing.T) {
	noEnd := []Node{{Past: past(0, -1)}, {Past: past(12, -1), After: []Edge{after(0, AfterEnd, 0), after(0, AfterStart, 12)}}}
	plain := []Node{{}, {After: []Edge{after(0, AfterEnd, 3)}}}
	for _, tt := range []struct {
		name  string
		d     Delays
		nodes []Node
		want  [][]Edge // of each node
	}{
		{"recorded", Delays{}, treeOfFour(), [][]Edge{nil, {after(0, AfterEnd, 28)}, {after(1, AfterStart, 2)}, {after(1, AfterEnd, 19), after(2, AfterEnd, 4)}}},
		{"think time after the last end", Delays{Kind: ThinkOnly}, treeOfFour(), [][]Edge{nil, {after(0, AfterEnd, 28)}, {after(1, AfterStart, 2)}, {after(1, AfterEnd, 4), after(2, AfterEnd, 4)}}},
		{"think time that is not known", Delays{Kind: ThinkOnly}, noEnd, [][]Edge{nil, {after(0, AfterEnd, 0), after(0, AfterStart, 12)}}},
		{"think time of the data", Delays{Kind: ThinkOnly}, plain, [][]Edge{nil, {after(0, AfterEnd, 3)}}},
		{"start to start", Delays{Kind: StartToStart}, treeOfFour(), [][]Edge{
			nil,
			{after(0, AfterEnd, 0), after(0, AfterStart, 30)},
			{after(1, AfterStart, 2)},
			{after(1, AfterEnd, 0), after(2, AfterEnd, 0), after(1, AfterStart, 24), after(2, AfterStart, 22)},
		}},
		{"none", Delays{Kind: NoDelays}, treeOfFour(), [][]Edge{nil, {after(0, AfterEnd, 0)}, {after(1, AfterStart, 0)}, {after(1, AfterEnd, 0), after(2, AfterEnd, 0)}}},
		{"a cap of each, after the ratio", Delays{Ratio: new(0.5), Cap: seconds(5)}, treeOfFour(), [][]Edge{nil, {after(0, AfterEnd, 5)}, {after(1, AfterStart, 1)}, {after(1, AfterEnd, 5), after(2, AfterEnd, 2)}}},
		// The starts 0, 30, 32, 54 become 0, 10, 12, 22.
		{"a cap of the tree", Delays{IdleCap: seconds(10)}, treeOfFour(), [][]Edge{nil, {after(0, AfterEnd, 8)}, {after(1, AfterStart, 2)}, {after(1, AfterEnd, 7), after(2, AfterEnd, 0)}}},
		{"a cap of the tree, and starts", Delays{IdleCap: seconds(10), Kind: StartToStart}, treeOfFour()[:2], [][]Edge{nil, {after(0, AfterEnd, 0), after(0, AfterStart, 10)}}},
		{"a cap of the tree, without recorded times", Delays{IdleCap: seconds(1)}, plain, [][]Edge{nil, {after(0, AfterEnd, 3)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := recording{make(List, len(tt.nodes)), tt.nodes}
			s := opened(t, tt.d.Of(src).(Sessions))
			for i, want := range tt.want {
				if got := s.Nodes[i].After; !slices.Equal(got, want) {
					t.Errorf("node %d is after %v, want %v", i, got, want)
				}
			}
			if before := opened(t, src); !slices.Equal(before.Nodes[len(before.Nodes)-1].After, tt.nodes[len(tt.nodes)-1].After) {
				t.Error("the nodes of the data have changed")
			}
		})
	}
}

func opened(t *testing.T, all Sessions) *Session {
	t.Helper()
	s, err := all.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Entries that are no sessions yet have delays after their answers.
func TestDelaysOfEntries(t *testing.T) {
	for _, tt := range []struct {
		d    Delays
		want time.Duration
	}{
		{Delays{}, 8 * time.Second},
		{Delays{Ratio: new(0.5)}, 4 * time.Second},
		{Delays{Ratio: new(0.5), Cap: time.Second}, time.Second},
		{Delays{Kind: ThinkOnly}, 8 * time.Second},
		{Delays{Kind: NoDelays, Cap: time.Second}, 0},
	} {
		e, err := tt.d.Of(List{{Delay: 8 * time.Second}}).At(0)
		if err != nil || e.Delay != tt.want {
			t.Errorf("%+v gives a delay of %v, %v; want %v", tt.d, e.Delay, err, tt.want)
		}
	}
}

// However the gaps are bounded, no request comes to begin before one that began earlier in the recording, no time between two
// starts is longer than the cap, and no delay grows or is negative.
func TestIdleCapKeepsTheOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		nodes := make([]Node, 1+rng.IntN(12))
		for i := range nodes {
			start := float64(rng.IntN(100))
			nodes[i].Past = past(start, start+float64(rng.IntN(40)))
			if rng.IntN(8) == 0 {
				nodes[i].Past = Span{}
			}
			for from := range i {
				if rng.IntN(3) == 0 {
					nodes[i].After = append(nodes[i].After, after(from, Anchor(rng.IntN(3)), float64(rng.IntN(30))))
				}
			}
		}
		most := seconds(float64(1 + rng.IntN(20)))
		s := opened(t, (&Delays{IdleCap: most}).Of(recording{make(List, len(nodes)), nodes}).(Sessions))
		var known []int
		for i, n := range nodes {
			if n.Past.Known {
				known = append(known, i)
			}
			for k, e := range n.After {
				if got := s.Nodes[i].After[k].Delay; got < 0 || got > e.Delay {
					t.Fatalf("a delay of %v became %v", e.Delay, got)
				}
			}
		}
		slices.SortStableFunc(known, func(a, b int) int { return cmp.Compare(nodes[a].Past.Start, nodes[b].Past.Start) })
		for j, i := range known[min(1, len(known)):] {
			was := nodes[i].Past.Start - nodes[known[j]].Past.Start
			if got := s.Nodes[i].Past.Start - s.Nodes[known[j]].Past.Start; got != min(was, most) {
				t.Fatalf("a time between starts of %v became %v; the cap is %v", was, got, most)
			}
		}
	}
}
