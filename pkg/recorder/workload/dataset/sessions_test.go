package dataset

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A testRequest is a row of testSessions: a request of session S, with a text or a number of tokens.
type testRequest struct {
	S      string
	At     *float64 // s; of the first row of a session
	Agent  string   // "" for the root
	Text   string
	Tokens int
	Max    int
	Delay  float64 // ms
	Whole  bool
	On     *int // request of the session
	After  []struct {
		From   int
		Anchor workload.Anchor
		MS     float64
	}
}

// testSessions is a layout whose rows say what a session is in the words of the model.
func testSessions() []layout {
	read := func(r *row) (q testRequest, err error) {
		return q, json.Unmarshal(r.text, &q)
	}
	return []layout{{
		name: "test", what: `"s"`, fits: withMembers("s"),
		group: func(f *file, _ *Options, r *row, _ int) ([]string, error) {
			q, err := read(r)
			if q.S == "-" {
				f.leaveOut("a row without a session")
				return nil, err
			}
			return []string{q.S}, err
		},
		sessions: func(_ *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
			s := &workload.Session{Recorded: true}
			var all []testRequest
			agents := map[string]int{"": 0}
			for i, r := range rows {
				q, err := read(r.row)
				if err != nil {
					return nil, err
				}
				if q.Tokens < 0 {
					return nil, r.fault("%d tokens", q.Tokens)
				}
				if s.ID = q.S; i == 0 && q.At != nil {
					s.Timed, s.Offset = true, time.Duration(*q.At*float64(time.Second))
				}
				n := workload.Node{Continues: -1}
				if q.On != nil {
					n.Continues = *q.On
				}
				for _, e := range q.After {
					n.After = append(n.After, workload.Edge{From: e.From, Anchor: e.Anchor, Delay: time.Duration(e.MS * float64(time.Millisecond))})
				}
				if _, ok := agents[q.Agent]; !ok {
					if s.Agents == nil {
						s.Agents = []workload.Agent{{Parent: -1}}
					}
					agents[q.Agent] = len(s.Agents)
					s.Agents = append(s.Agents, workload.Agent{ID: q.Agent, Kind: workload.Spawned})
				}
				n.Agent = agents[q.Agent]
				s.Nodes, all = append(s.Nodes, n), append(all, q)
				s.Recorded = s.Recorded && q.Whole
			}
			s.Entry = func(i int) (workload.Entry, error) {
				q := all[i]
				e := workload.Entry{Step: rows[i].i, Prompt: &workload.Prompt{Text: q.Text, MaxTokens: q.Max}, Whole: q.Whole, Delay: time.Duration(q.Delay * float64(time.Millisecond))}
				if q.Tokens == 0 {
					return e, nil
				}
				var err error
				e.Prompt.Text, e.Prompt.IDs, err = o.Texts.Text(uint64(rows[i].i), q.Tokens)
				return e, err
			}
			return []*workload.Session{s}, nil
		},
	}}
}

// TestSessions checks how the rows of sessions are found and read.
func TestSessions(t *testing.T) {
	const in = `{"s":"a","at":2,"text":"q","max":5}
		{"s":"b","text":"only","whole":true}
		{"s":"-","text":"left out"}
		{"s":"a","agent":"x","tokens":3,"after":[{"from":0}]}
		{"s":"a","text":"t","delay":1,"on":0,"after":[{"from":0,"anchor":1,"ms":1500},{"from":1,"ms":2000}]}
	`
	s, err := open(t, "in", in, Options{Texts: numbered{}, further: testSessions()})
	if err != nil {
		t.Fatal(err)
	}
	sessions, ok := s.AsSessions()
	if !ok {
		t.Fatal("read as single requests")
	}
	want := []string{
		`a at:2s x=spawned(root)`,
		`root:0 = "q" max:5`,
		`x:0 after root:0 = "text 3 of 3"`,
		`root:1 after root:0+1.5s(start) x:0+2s on root:0 = "t" delay:1ms`,
		`b recorded`,
		`root:0 = "only" whole`,
	}
	if diff := cmp.Diff(want, graphs(t, sessions)); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if notes := strings.Join(s.Notes(), ";"); !strings.HasSuffix(notes, ": left out: a row without a session (1)") {
		t.Errorf("notes %q", notes)
	}
}
