package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// describe describes an entry on one line.
func describe(e workload.Entry) string {
	var b strings.Builder
	add := func(is bool, format string, args ...any) {
		if is {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, format, args...)
		}
	}
	for _, f := range e.Values {
		add(true, "%s=%s", f.Name, f.Value.Data)
	}
	for _, f := range e.Expected {
		add(true, "want:%s=%s", f.Name, f.Value.Data)
	}
	if p := e.Prompt; p != nil {
		add(p.System != "", "system:%q", p.System)
		add(p.Text != "" || p.Messages == nil && p.Body == nil, "%q", p.Text)
		for _, t := range p.More {
			add(true, "%q", t)
		}
		add(p.Messages != nil, "messages:%s", p.Messages)
		for _, m := range p.Media {
			add(true, "%v:%s", m.Kind, m.URL)
		}
		add(p.IDs != nil, "ids:%v", p.IDs)
		add(p.MaxTokens != 0, "max:%d", p.MaxTokens)
		add(p.Exact, "exact")
		for _, f := range p.Extra {
			add(true, "+%s=%s", f.Name, f.Value.Data)
		}
		add(p.Body != nil, "body:%s", p.Body)
	}
	add(e.Session != "", "session:%s/%d", e.Session, e.Turn)
	add(e.Delay != 0, "delay:%v", e.Delay)
	add(e.Timed, "at:%v", e.Offset)
	add(e.Whole, "whole")
	return b.String()
}

// all returns descriptions of all entries of a set, in order.
func all(t testing.TB, s *Set) []string {
	t.Helper()
	var got []string
	for k := range s.Len() {
		e, err := s.At(k)
		if err != nil {
			t.Fatalf("At(%d): %v", k, err)
		}
		got = append(got, describe(e))
	}
	return got
}

// graphs returns descriptions of sessions, a line for each session and for each of its requests. A request is named by its agent
// and its turn there; the root is "root":
//
//	a at:2s recorded x=spawned(root)
//	root:0 = "q" max:5
//	x:0 after root:0 = "r"
//	root:1 after root:0+1.5s(start) x:0+2s on root:0 = "t"
//
// The delay of an entry, which its successors wait for, stands in its description. graphs checks that the entries of the sessions
// are the ones of the source.
func graphs(t testing.TB, all workload.Sessions) []string {
	t.Helper()
	var got []string
	entry := 0
	for k := range all.Sessions() {
		s, err := all.Open(k)
		if err != nil {
			t.Fatalf("Open(%d): %v", k, err)
		}
		if o := all.Outline(k); o != s.Outline() || len(s.Nodes) == 0 {
			t.Errorf("session %d has the outline %+v, want %+v", k, o, s.Outline())
		}
		got = append(got, describeSession(s))
		names := nodeNames(s)
		for i, n := range s.Nodes {
			e, err := s.Entry(i)
			if err != nil {
				t.Fatalf("%s: %v", names[i], err)
			}
			if flat, err := all.At(entry); err != nil || describe(flat) != describe(e) || flat.Place() != e.Place() {
				t.Errorf("At(%d) is %s: %s (%v), want %s: %s", entry, flat.Place(), describe(flat), err, e.Place(), describe(e))
			}
			entry++
			line := names[i]
			for j, edge := range n.After {
				if j == 0 {
					line += " after"
				}
				line += " " + names[edge.From]
				if edge.Delay != 0 {
					line += "+" + edge.Delay.String()
				}
				line += []string{"", "(start)", "(first token)"}[edge.Anchor]
			}
			if n.Continues >= 0 {
				line += " on " + names[n.Continues]
			}
			if want := s.Turns()[i]; e.Session != s.ID || e.Turn != want {
				t.Errorf("%s is turn %d of %q, want %d of %q", names[i], e.Turn, e.Session, want, s.ID)
			}
			e.Session = ""
			got = append(got, line+" = "+describe(e))
		}
	}
	if entry != all.Len() {
		t.Errorf("%d requests in the sessions of %d", entry, all.Len())
	}
	return got
}

// describeSession describes a session without its requests.
func describeSession(s *workload.Session) string {
	line := s.ID
	if s.Timed {
		line += " at:" + s.Offset.String()
	}
	if s.Recorded {
		line += " recorded"
	}
	for i, a := range s.Agents {
		if i > 0 {
			line += fmt.Sprintf(" %s=%s(%s)", a.ID, [...]string{"root", "forked", "spawned"}[a.Kind], agentName(s, a.Parent))
		}
	}
	return line
}

// agentName returns the name of an agent for tests.
func agentName(s *workload.Session, agent int) string {
	if agent == 0 {
		return "root"
	}
	return s.Agents[agent].ID
}

// nodeNames returns the names of the nodes of a session for tests.
func nodeNames(s *workload.Session) []string {
	turns := s.Turns()
	names := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		names[i] = fmt.Sprintf("%s:%d", agentName(s, n.Agent), turns[i])
	}
	return names
}

// write writes a temporary file and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens a temporary file with this content.
func open(t testing.TB, name, text string, o Options) (*Set, error) {
	t.Helper()
	s, err := Open(t.Context(), []string{write(t, name, text)}, o)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// refusal returns the error about a file called "in" with this content, without the folder.
func refusal(t *testing.T, text string, o Options) string {
	t.Helper()
	s, err := open(t, "in", text, o)
	if err == nil {
		t.Fatalf("read as %q, want an error", all(t, s))
	}
	msg := err.Error()
	if i := strings.LastIndex(msg[:max(strings.Index(msg, "in: "), 0)], "/"); i > 0 {
		msg = msg[i+1:]
	}
	return msg
}

// numbered implements Texts with texts that name the arguments.
type numbered struct{}

func (numbered) Text(number uint64, tokens int) (string, []uint32, error) {
	return fmt.Sprintf("text %d of %d", number, tokens), nil, nil
}

func (numbered) Blocks(blocks []int64, size, tokens int) (string, []uint32, error) {
	return fmt.Sprintf("%d tokens in blocks of %d: %v", tokens, size, blocks), nil, nil
}

func (numbered) Scoped(scope string, blocks []int64, size int, number uint64, rest int) (string, []uint32, error) {
	var parts []string
	if len(blocks) > 0 {
		parts = append(parts, fmt.Sprintf("%s%v of %d", scope, blocks, size))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(parts, ", "), nil, nil
}

func (numbered) Parts(_ []uint64, tokens []int) (string, []uint32, error) {
	return fmt.Sprintf("parts of %d", tokens), nil, nil
}

// words counts words.
func words(text string) int { return len(strings.Fields(text)) }
