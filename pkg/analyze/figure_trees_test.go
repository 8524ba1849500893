package analyze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// The trees of a run have its sessions with their requests by agent, with and without the figures.
func TestSessionTrees(t *testing.T) {
	// The turns of tree, by session and agent; the possible hits are as in TestSessionsPossibleHits.
	const want = "s 1200/700 agents 4 depth 2: / 0+100:10 4+200:50 | x/ 1+200:20 | y/ 2+50:30 | z/y 3+200:40; t 200/200 agents 1 depth 0: / 0+200:60"
	text := func(all []figure.SessionTree) string {
		var sessions []string
		for i := range all {
			s := &all[i]
			var agents []string
			for _, a := range s.Agents {
				line := a.ID + "/" + a.Parent
				for _, q := range a.Requests {
					line += fmt.Sprintf(" %d+%d:%d", q.Turn, q.EndNS-q.StartNS, q.TTFT.V)
				}
				agents = append(agents, line)
			}
			sessions = append(sessions, fmt.Sprintf("%s %d/%d agents %d depth %d: %s", s.ID, s.JobNS, s.ModelNS, s.Session.Agents, s.Depth, strings.Join(agents, " | ")))
		}
		return strings.Join(sessions, "; ")
	}
	only := sessionsOf(t, sessionRun(tree()...), Config{Sessions: &figure.SessionsConfig{OnlyTrees: true}})
	if got := text(only.Trees); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if v := only.Trees[0].PossibleTokens; v.OK {
		t.Errorf("possible tokens %v without prompts", v)
	}
	cfg := wordsConfig(1, 0)
	cfg.Sessions.Trees = true
	all := sessionsOf(t, sessionRun(tree()...), cfg)
	if got := text(all.Trees); got != want {
		t.Errorf("with figures: %s, want %s", got, want)
	}
	if s, u := all.Trees[0].PossibleTokens.V, all.Trees[1].PossibleTokens.V; s != 2+5 || u != 3 {
		t.Errorf("possible tokens %d and %d, want 7 and 3", s, u)
	}
	if s := sessionsOf(t, sessionRun(tree()...), wordsConfig(1, 0)); s.Trees != nil {
		t.Errorf("trees that nobody asked for: %v", s.Trees)
	}
}

// Levels share the room for trees, and the slowest sessions keep their requests first.
func TestSessionTreesBounded(t *testing.T) {
	var turns []turn
	for i := range 40 {
		for k := range 10 {
			at := uint64(1000 + 100*i + 20*k)
			length := uint64(10)
			if i == 31 && k == 9 {
				length = 5000
			}
			turns = append(turns, turn{session: fmt.Sprint(i), turn: k, begin: at, first: 1, end: at + length, history: "a", answer: "b c", cached: -1})
		}
	}
	r := sessionRun(turns...)
	levels := [][]export.Request{r.Requests[0]}
	for range 299 {
		levels = append(levels, []export.Request{memrun.At(10, 20)})
	}
	s := sessionsOf(t, memrun.New("openai", levels...), Config{Sessions: &figure.SessionsConfig{OnlyTrees: true}})
	requests := 0
	var ids []string
	for i := range s.Trees {
		x := &s.Trees[i]
		n := 0
		for _, a := range x.Agents {
			n += len(a.Requests)
		}
		if x.ID == "31" && n != 10 {
			t.Errorf("the slowest session has %d requests", n)
		}
		if n+x.LeftOut != 10 {
			t.Errorf("session %s: %d requests and %d left out, want 10", x.ID, n, x.LeftOut)
		}
		if i > 0 && x.Span.FromNS < s.Trees[i-1].Span.FromNS {
			t.Errorf("session %s stands behind a later one", x.ID)
		}
		ids = append(ids, x.ID)
		requests += n
	}
	// The slowest are 31 and the first ones of the others, which take the same time. Of the other 35, each seventh is in the sample.
	if got := strings.Join(ids, " "); got != "0 1 2 3 4 11 18 25 31 33" || requests != 100 {
		t.Errorf("sessions %s with %d requests, want 100", got, requests)
	}
}
