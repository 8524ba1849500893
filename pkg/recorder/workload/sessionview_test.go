package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed are sessions in memory. Entry i of the source is request i of them all.
type listed struct {
	List
	all []Session
}

// sessionsOf returns sessions whose request i of session k is the prompt "k.i".
func sessionsOf(all ...Session) listed {
	l := listed{all: all}
	for k := range all {
		first := len(l.List)
		for i := range all[k].Nodes {
			l.List = append(l.List, Entry{Step: k, Session: all[k].ID, Turn: i, Delay: time.Second, Whole: all[k].Recorded, Prompt: &Prompt{Text: fmt.Sprintf("%d.%d", k, i)}})
		}
		all[k].Entry = func(i int) (Entry, error) { return l.At(first + i) }
	}
	return l
}

func (l listed) Sessions() int { return len(l.all) }

func (l listed) Outline(k int) Outline { return l.all[k].Outline() }

func (l listed) Open(k int) (*Session, error) { return &l.all[k], nil }

// sent returns the session, model and text of all requests, after it has checked that the source holds the same.
func sent(t *testing.T, src Source) (got []string) {
	t.Helper()
	all, ok := src.(Sessions)
	if !ok {
		t.Fatalf("%T is no Sessions", src)
	}
	n := 0
	for k := range all.Sessions() {
		s, err := all.Open(k)
		if err != nil {
			t.Fatal(err)
		}
		if s.Outline() != all.Outline(k) {
			t.Errorf("session %d is %+v, outlined as %+v", k, s.Outline(), all.Outline(k))
		}
		for i := range s.Nodes {
			e, err := s.Entry(i)
			if err != nil {
				t.Fatal(err)
			}
			line := func(e Entry) string {
				return strings.TrimSpace(fmt.Sprintf("%s %s %s %v", e.Session, e.Prompt.Text, e.Model, e.Delay))
			}
			got = append(got, line(e))
			if flat, err := all.At(n); err != nil || line(flat) != line(e) {
				t.Errorf("At(%d) is %s, %v; want %s", n, line(flat), err, line(e))
			}
			n++
		}
	}
	if n != all.Len() {
		t.Errorf("%d requests, Len is %d", n, all.Len())
	}
	return got
}

// Whatever changes sessions returns sessions, whose entries are their requests.
func TestChangedSessions(t *testing.T) {
	chain := []Node{{Continues: -1, Model: "big"}, {Continues: 0, Model: "small", After: []Edge{{From: 0, Delay: time.Minute}}}, {Continues: -1, After: []Edge{{From: 1}}}}
	all := sessionsOf(
		Session{ID: "a", Nodes: chain},
		Session{ID: "b", Nodes: []Node{{Continues: -1}}, Timed: true, Offset: 5},
		Session{ID: "c", Nodes: []Node{{Continues: -1, Model: "small"}, {Continues: -1, Model: "big"}}, Recorded: true},
	)
	number := func(k int, e *Entry) error {
		p := *e.Prompt
		e.Prompt = &p
		p.Text += fmt.Sprintf("#%d", k)
		return nil
	}
	models := func(names ...string) Source {
		src, err := Models(all, ModelChoice{Names: names})
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	for _, tt := range []struct {
		name string
		src  Source
		want []string
	}{
		{"a change of entries", Map(all, number), []string{"a 0.0#0  1s", "a 0.1#1  1s", "a 0.2#2  1s", "b 1.0#3  1s", "c 2.0#4  1s", "c 2.1#5  1s"}},
		{"the first ones", Map(LimitSessions(all, 2, Order{}), number), []string{"a 0.0#0  1s", "a 0.1#1  1s", "a 0.2#2  1s", "b 1.0#3  1s"}},
		{"models", models("x", "y"), []string{"a 0.0 x 1s", "a 0.1 y 1s", "a 0.2 x 1s", "b 1.0 y 1s", "c 2.0 x 1s", "c 2.1 y 1s"}},
		{"models of the load", models("x", "big"), []string{"a 0.0 big 1s", "a 0.1 x 1s", "a 0.2 big 1s", "b 1.0 big 1s", "c 2.0 x 1s", "c 2.1 big 1s"}},
		{"fewer models", models("x"), []string{"a 0.0 x 1s", "a 0.1 x 1s", "a 0.2 x 1s", "b 1.0 x 1s", "c 2.0 x 1s", "c 2.1 x 1s"}},
		{
			"beginnings", MapSessions(all, WithSessionPrefix(func(k int) (string, error) { return fmt.Sprintf("p%d", k), nil })),
			[]string{"a p0 0.0  1s", "a 0.1  1s", "a p0 0.2  1s", "b p1 1.0  1s", "c p2 2.0  1s", "c p2 2.1  1s"},
		},
		{"delays", (&Delays{Ratio: new(0.5)}).Of(Map(all, number)).(Sessions), []string{"a 0.0#0  500ms", "a 0.1#1  500ms", "a 0.2#2  500ms", "b 1.0#3  500ms", "c 2.0#4  500ms", "c 2.1#5  500ms"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := sent(t, tt.src); !slices.Equal(got, tt.want) {
				t.Errorf("requests %q, want %q", got, tt.want)
			}
		})
	}
	s, err := (&Delays{Ratio: new(0.5)}).Of(all).(Sessions).Open(0)
	if err != nil || s.Nodes[1].After[0].Delay != 30*time.Second || chain[1].After[0].Delay != time.Minute {
		t.Errorf("a delay of %v, %v from %v", s.Nodes[1].After[0].Delay, err, chain[1].After[0].Delay)
	}
	seen := map[string]bool{}
	for _, line := range sent(t, LimitSessions(all, 3, Order{Kind: Shuffled, Seed: 1})) {
		seen[line] = true
	}
	if len(seen) != all.Len() {
		t.Errorf("%d requests of all sessions in another order, want %d", len(seen), all.Len())
	}
	if _, err := Batches(all, Batch{N: 1, Texts: 2, Images: 1}); err == nil || !strings.Contains(err.Error(), "requests of sessions cannot be combined") {
		t.Errorf("batches: %v", err)
	}
	failing, err := Map(all, func(k int, _ *Entry) error {
		if k == 4 {
			return errors.New("no")
		}
		return nil
	}).(Sessions).Open(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := failing.Entry(0); err == nil || err.Error() != "input data, row 3: no" {
		t.Errorf("error %v", err)
	}
}
