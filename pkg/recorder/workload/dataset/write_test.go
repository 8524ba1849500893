package dataset

import (
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// What the layouts of WriteSessions cannot say is refused by name.
func TestUnwrittenSessions(t *testing.T) {
	t.Parallel()
	all := &workload.Session{
		ID: "s", Agents: []workload.Agent{{Parent: -1}, {ID: "x", Kind: workload.Spawned}},
		Nodes: []workload.Node{{Continues: -1}, {Continues: -1, Agent: 1, After: []workload.Edge{{From: 0, Anchor: workload.AfterStart}}}},
	}
	for _, tt := range []struct {
		name  string
		nodes []workload.Node
		want  string
	}{
		{"an anchor", []workload.Node{{Continues: -1, Agent: 1, After: []workload.Edge{{From: 0, Anchor: workload.AfterStart}}}}, "request 0 of agent 1 waits for the start or the first token of another one: dag_jsonl cannot say that; Graph IR can, but is only read"},
		{
			"a join with two delays",
			[]workload.Node{
				{Continues: -1, Agent: 1, After: []workload.Edge{{From: 0}}},
				{Continues: 0, After: []workload.Edge{{From: 0, Delay: 3500 * time.Millisecond}, {From: 1, Delay: 1500 * time.Millisecond}}},
			},
			"request 1 of agent 0 begins 3.5s after request 0 of agent 0 and 1.5s after request 0 of agent 1, and not at one time after all: dag_jsonl cannot say that; Graph IR can, but is only read",
		},
		{"a quote", []workload.Node{{Continues: 0, After: []workload.Edge{{From: 0}}, Quotes: []int{0}}}, "request 1 of agent 0 quotes the answer to another one: dag_jsonl cannot say that; Graph IR can, but is only read"},
		{"an own beginning", []workload.Node{{Continues: -1, After: []workload.Edge{{From: 0}}}}, "request 1 of agent 0 has another history than the messages before it: dag_jsonl cannot say that; Graph IR can, but is only read"},
		{"a join of its own", []workload.Node{{Continues: 0, After: []workload.Edge{{From: 0}}}, {Continues: 1, After: []workload.Edge{{From: 1}, {From: 0}}}}, "request 2 of agent 0 waits for request 0 of agent 0, which is not the last one of an agent that it began: dag_jsonl cannot say that; Graph IR can, but is only read"},
		{"several ways", []workload.Node{{Continues: 0, After: nil}}, "request 1 of agent 0 does not wait for the one before: dag_jsonl cannot say that; Graph IR can, but is only read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := *all
			s.Nodes = append([]workload.Node{{Continues: -1}}, tt.nodes...)
			if tt.nodes[0].Agent == 0 {
				s.Agents = nil
			}
			s.Entry = func(int) (workload.Entry, error) {
				return workload.Entry{Prompt: &workload.Prompt{Text: "a"}}, nil
			}
			body := func(*workload.Entry) ([]byte, error) { return []byte(`{"messages":[]}`), nil }
			w := &sessionWriter{SessionFile: SessionFile{Body: body}, ids: map[string]bool{}, sessions: map[string]bool{}}
			if _, err := w.agents(&s); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
