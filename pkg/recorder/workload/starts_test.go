package workload

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// chainOf returns requests of an agent with recorded starts in milliseconds and without ends, each after the one before. The first one
// waits for its start.
func chainOf(agent, first int, starts ...int) []Node {
	nodes := make([]Node, len(starts))
	for i, ms := range starts {
		at := time.Duration(ms) * time.Millisecond
		nodes[i] = Node{Agent: agent, Continues: -1, Past: Span{Known: true, Start: at}}
		if i == 0 {
			nodes[i].NotBefore = at
			continue
		}
		k := first + i - 1
		nodes[i].After = []Edge{{From: k}, {From: k, Anchor: AfterStart, Delay: at - nodes[i-1].Past.Start}}
	}
	return nodes
}

// plan returns when each request of a part is sent in ms if answers take no time, by its number in the whole session.
func plan(p *Part) (lines []string) {
	at := make([]time.Duration, len(p.Nodes))
	for i, n := range p.Nodes {
		at[i] = n.NotBefore
		for _, e := range n.After {
			at[i] = max(at[i], at[e.From]+e.Delay)
		}
		lines = append(lines, fmt.Sprintf("%d@%d", p.Of[i], at[i].Milliseconds()))
	}
	return lines
}

func TestStartAt(t *testing.T) {
	root := chainOf(0, 0, 0, 12000, 20000)
	child := chainOf(1, 3, 13000, 14000, 17000)
	child[0].NotBefore, child[0].After = 0, []Edge{{From: 1, Anchor: AfterStart, Delay: time.Second}}
	withChild := slices.Concat(root[:2], child, root[2:])
	for i := range withChild { // the child has the numbers 2 to 4
		for k := range withChild[i].After {
			if e := &withChild[i].After[k]; withChild[i].Agent == 1 && i > 2 {
				e.From--
			}
		}
	}
	joins := &withChild[5]
	joins.After = append(slices.Clone(joins.After), Edge{From: 4})
	running := []Node{{Past: past(0, 10)}, {Past: past(13, 14), After: []Edge{after(0, AfterEnd, 3)}}}
	for _, tt := range []struct {
		name        string
		nodes       []Node
		at          float64 // seconds
		prime, rest []string
	}{
		{"between two turns", chainOf(0, 0, 0, 1000, 2000), 0.8, []string{"0@0"}, []string{"1@200", "2@1200"}},
		{"before the first turn", chainOf(0, 0, 500, 1500, 2500), 0.2, nil, []string{"0@300", "1@1300", "2@2300"}},
		{"after the last turn", chainOf(0, 0, 0, 100, 200), 0.9, []string{"2@0"}, nil},
		{"at a turn", chainOf(0, 0, 0, 800, 1600), 0.8, []string{"0@0"}, []string{"1@0", "2@800"}},
		{"at the beginning", chainOf(0, 0, 0, 800), 0, nil, []string{"0@0", "1@800"}},
		{"a turn that joins a sub-agent waits for it", withChild, 13.5, []string{"1@0", "2@0"}, []string{"3@500", "4@3500", "5@6500"}},
		{"before a sub-agent", withChild, 12.5, []string{"1@0"}, []string{"2@500", "3@1500", "4@4500", "5@7500"}},
		{"a sub-agent that is done is not primed", withChild, 18, []string{"1@0"}, []string{"5@2000"}},
		{"while a request ran", running, 4, []string{"0@0"}, []string{"1@9000"}},
		{"while it thought", running, 11, []string{"0@0"}, []string{"1@2000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Session{ID: "s", Recorded: true, Nodes: tt.nodes, Agents: []Agent{{Parent: -1}, {ID: "a"}}, Entry: func(i int) (Entry, error) { return Entry{Step: i}, nil }}
			prime, rest := s.StartAt(seconds(tt.at))
			if got := plan(prime); !slices.Equal(got, tt.prime) {
				t.Errorf("primed with %v, want %v", got, tt.prime)
			}
			if got := plan(rest); !slices.Equal(got, tt.rest) {
				t.Errorf("then %v, want %v", got, tt.rest)
			}
			for _, part := range []*Part{prime, rest} {
				for j, i := range part.Of {
					if e, err := part.Entry(j); err != nil || e.Step != i {
						t.Errorf("node %d is request %d, %v; want %d", j, e.Step, err, i)
					}
				}
			}
		})
	}
}

// The join of the test above is not sent before the last request of the sub-agent has ended.
func TestStartAtKeepsJoins(t *testing.T) {
	nodes := slices.Concat(chainOf(0, 0, 0, 12000), chainOf(1, 2, 13000, 17000))
	nodes = append(nodes, Node{Continues: -1, Past: past(20, -1), After: []Edge{{From: 1, Anchor: AfterStart, Delay: seconds(8)}, {From: 3}}})
	s := &Session{Nodes: nodes, Agents: make([]Agent, 2)}
	_, rest := s.StartAt(seconds(13.5))
	last := rest.Nodes[len(rest.Nodes)-1]
	if want := []Edge{{From: 0}}; !slices.Equal(last.After, want) || last.NotBefore != seconds(6.5) {
		t.Errorf("the join is after %v, not before %v; want %v, 6.5s", last.After, last.NotBefore, want)
	}
}

func TestStarts(t *testing.T) {
	s := &Session{ID: "s", Nodes: []Node{{Past: past(0, 100)}, {Past: past(20, 60)}}}
	starts := Starts{Min: 0.25, Max: 0.75, Seed: 7}
	least, most, again := seconds(100), time.Duration(0), starts
	for slot := range 1000 {
		at := starts.At(slot, s)
		if at != again.At(slot, s) {
			t.Fatal("the same start is drawn differently")
		}
		least, most = min(least, at), max(most, at)
	}
	if least < seconds(25) || least > seconds(26) || most < seconds(74) || most > seconds(75) {
		t.Errorf("starts from %v to %v, want from 25s to 75s", least, most)
	}
	again.Seed++
	if starts.At(0, s) == again.At(0, s) || starts.At(0, s) == starts.At(0, &Session{ID: "t", Nodes: s.Nodes}) {
		t.Error("another seed, or another session, has the same start")
	}
	if got, err := ParseStarts("0.25:1"); err != nil || *got != (Starts{Min: 0.25, Max: 1}) {
		t.Errorf("0.25:1 is %+v, %v", got, err)
	}
	for _, bad := range []string{"", "0.5", "0.5:", "0.6:0.5", "0:2", "a:1", "NaN:1"} {
		if _, err := ParseStarts(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, bad := range []Starts{{Min: -0.1, Max: 1}, {Min: 0.5, Max: 0.4}, {Max: 1.1}, {Max: 1, Pressure: -1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}
