package dataset

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
				if q.Text == "bad" {
					return e, rows[i].fault("a bad text")
				}
				if q.Tokens == 0 {
					return e, nil
				}
				if o.Texts == nil {
					return e, rows[i].fault("%w", errNoTexts)
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

// TestSessionErrors checks that an error of sessions names the row, and both files of a mixture.
func TestSessionErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		o    Options
		want string
	}{
		{"a row of a session", []string{`{"s":"a"}` + "\n" + `{"s":"b"}` + "\n" + `{"s":"a","tokens":-1}`}, Options{}, "0.jsonl: line 3: -1 tokens"},
		{"a request", []string{`{"s":"a"}` + "\n" + `{"s":"b"}` + "\n" + `{"s":"a","text":"bad"}`}, Options{}, "0.jsonl: line 3: a bad text"},
		{"a group", []string{`{"s":"a"}` + "\n" + `{"s":7}`}, Options{}, "0.jsonl: line 2: json: cannot unmarshal"},
		{"no texts", []string{`{"s":"a"}` + "\n" + `{"s":"b","tokens":2}`}, Options{}, "0.jsonl: line 2: the trace holds no texts"},
		{"sessions beside prompts", []string{`{"s":"a"}`, `{"prompt":"a"}`}, Options{}, "0.jsonl holds sessions (test), and 1.jsonl single requests (prompts): they cannot be sent in one run; give one of them"},
		{"prompts beside sessions", []string{`{"prompt":"a"}`, `{"s":"a"}`}, Options{}, "1.jsonl holds sessions (test), and 0.jsonl single requests (prompts)"},
		{"a window without times", []string{`{"s":"a"}`}, Options{To: time.Second}, "--trace-window needs rows with a time"},
		{"nothing in the window", []string{`{"s":"a","at":3}`}, Options{To: time.Second}, "no request in it (0.jsonl: left out: sessions outside the window of the trace (1))"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.further = testSessions()
			s, err := openAll(t, tt.o, tt.in...)
			if err == nil {
				t.Fatalf("read as %q", all(t, s))
			}
			if msg := withoutFolders(err.Error()); !strings.Contains(msg, tt.want) || strings.Contains(msg, "\n") {
				t.Errorf("error %q, want %q", msg, tt.want)
			}
		})
	}
}

// openAll opens a folder with files 0.jsonl, 1.jsonl and so on.
func openAll(t *testing.T, o Options, in ...string) (*Set, error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range in {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), []string{dir}, o)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// withoutFolders returns a message whose files are named without their folders.
func withoutFolders(msg string) string { return regexp.MustCompile(`/\S+/`).ReplaceAllString(msg, "") }

// TestSessionFiles checks sessions of several files: their ids differ, and a window and a number of rows select among them.
func TestSessionFiles(t *testing.T) {
	ids := func(s *Set) (all []string) {
		sessions, ok := s.AsSessions()
		if !ok {
			t.Fatal("no sessions")
		}
		graphs(t, sessions)
		for k := range sessions.Sessions() {
			o := sessions.Outline(k)
			if o.Timed {
				o.ID += "@" + o.Offset.String()
			}
			all = append(all, fmt.Sprintf("%s:%d", o.ID, o.Requests))
		}
		return all
	}
	in := []string{
		`{"s":"a","at":1}` + "\n" + `{"s":"b"}` + "\n" + `{"s":"a"}` + "\n",
		`{"s":"c"}` + "\n" + `{"s":"a","at":5}` + "\n" + `{"s":"-"}` + "\n",
	}
	for _, tt := range []struct {
		name  string
		o     Options
		want  []string
		notes string
	}{
		{"all", Options{}, []string{"a@1s:2", "b:1", "c:1", "1.jsonl: a@5s:1"}, "1.jsonl: an earlier file has the ids of 1 session too, so they get the name of this file as a prefix; 1.jsonl: left out: a row without a session (1)"},
		{"a window", Options{From: 2 * time.Second}, []string{"b:1", "c:1", "a@3s:1"}, "0.jsonl: left out: sessions outside the window of the trace (1); 1.jsonl: left out: a row without a session (1)"},
		{"rows", Options{MaxRows: 4}, []string{"a@1s:2", "b:1", "c:1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.further = testSessions()
			s, err := openAll(t, tt.o, in...)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(tt.want, " ")
			if got := strings.Join(ids(s), " "); got != want {
				t.Errorf("sessions %s, want %s", got, want)
			}
			if got := withoutFolders(strings.Join(s.Notes(), "; ")); got != tt.notes {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
}
