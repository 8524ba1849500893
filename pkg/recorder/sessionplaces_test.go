package recorder

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// agents is graphs with agents.
type agents struct {
	graphs
	all []workload.Agent
}

func (a agents) Open(k int) (*workload.Session, error) {
	s, err := a.graphs.Open(k)
	s.Agents = a.all
	return s, err
}

// Each request has its agent, that agent's parent and depth; the root has none of these.
func TestAgentOfRequest(t *testing.T) {
	of := agents{graph(node(), node(workload.Edge{From: 0}), node(workload.Edge{From: 1}), node(workload.Edge{From: 2})), []workload.Agent{
		{Parent: -1}, {ID: "look", Parent: 0, Kind: workload.Spawned}, {ID: "dig", Parent: 1, Kind: workload.Spawned}, {ID: "write", Parent: 0, Kind: workload.Forked},
	}}
	for i := range of.nodes {
		of.nodes[i].Agent = i
	}
	w, _, _, err := recordSessions(t, ok(time.Millisecond), Config{Entries: of, Levels: []load.Level{load.Sessions{N: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		session, agent, parent string
		depth                  int
	}
	want := []place{{session: "s"}, {"s", "look", "", 1}, {"s", "dig", "look", 2}, {"s", "write", "", 1}}
	got := make([]place, len(want))
	for _, r := range w.requests {
		got[r.Turn] = place{r.SessionID, r.Agent, r.ParentAgent, r.Depth}
	}
	if !slices.Equal(got, want) {
		t.Errorf("agents %v, want %v", got, want)
	}
}

// Each play of a session has an id of its own, also in a further level that begins with the same session.
func TestPlayIDs(t *testing.T) {
	entries := turns("abab")
	entries[1].Session, entries[3].Session = "b#2", "b#2" // as if it were the second play of b
	for _, tt := range []struct {
		name    string
		restart bool
		levels  int
		want    []string
	}{
		{"repeated", false, 1, []string{"a", "a", "b#2#1", "b#2#1", "a#2", "a#2", "b#2#2"}},
		{"restarted", true, 2, []string{"a", "a", "b#2#1", "b#2#1", "a#2", "a#2", "b#2#2", "b#2#2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Entries: entries, Restart: tt.restart, Levels: slices.Repeat([]load.Level{load.Sessions{N: 1}}, tt.levels)}
			if !tt.restart {
				cfg.Measure = window.Measure{Duration: 650 * time.Millisecond}
			}
			w, _, _, err := recordSessions(t, ok(100*time.Millisecond), cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(w.requests, func(a, b export.Request) int { return cmp.Compare(a.ID, b.ID) })
			var got []string
			for _, r := range w.requests {
				got = append(got, r.SessionID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("sessions %q, want %q", got, tt.want)
			}
		})
	}
}
