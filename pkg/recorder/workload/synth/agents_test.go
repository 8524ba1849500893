package synth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// amount parses an amount.
func amount(t testing.TB, text string) Amount {
	t.Helper()
	a, err := ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// smallAgents returns a shape with short texts that has everything.
func smallAgents(t testing.TB) AgentShape {
	t.Helper()
	return AgentShape{
		SystemTokens: amount(t, "uniform:20,40"), Groups: 3, GroupTokens: amount(t, "uniform:10,30"), SessionTokens: amount(t, "50%:uniform:5,20"),
		Tasks: amount(t, "uniform:1,3"), Turns: amount(t, "uniform:1,4"),
		TaskTokens: amount(t, "uniform:5,20"), ToolTokens: amount(t, "lognormal:20,30"), AnswerTokens: amount(t, "normal:10,3"),
		ToolDelay: amount(t, "uniform:10,20"), ThinkTime: amount(t, "1000"),
		Subagents: amount(t, "60%:uniform:1,4"), SubagentTurns: amount(t, "uniform:1,3"), SubagentTokens: amount(t, "25"), Background: 0.3,
		Resets: 0.1, ResetKeep: 0.5, Context: 400,
	}
}

func newAgents(t testing.TB, c AgentsConfig) *Agents {
	t.Helper()
	a, err := NewAgents(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// message is a message of a chat.
type message struct{ Role, Content string }

func messagesOf(t testing.TB, s *workload.Session, i int) (workload.Entry, []message) {
	t.Helper()
	e, err := s.Entry(i)
	if err != nil {
		t.Fatal(err)
	}
	var all []message
	if err := json.Unmarshal(e.Prompt.Messages, &all); err != nil {
		t.Fatalf("%v: %s", err, e.Prompt.Messages)
	}
	return e, all
}

// TestAgentLengths checks that each message has exactly the length that was drawn, for a tokenizer that splits at blanks and for one
// that does not, and that a prompt and its answer fit into the context.
func TestAgentLengths(t *testing.T) {
	for name, tok := range map[string]Tokenizer{"built-in": builtinTokenizer(t), "spans blanks": pairs{builtinTokenizer(t)}} {
		shape := smallAgents(t)
		shape.Context, shape.ResetKeep, shape.ToolTokens = 200, 1, amount(t, "lognormal:40,60")
		a := newAgents(t, AgentsConfig{Texts: newTexts(t, tok, 5, ""), Seed: 5, Sessions: 30, AgentShape: shape})
		resets := 0
		for k := range a.Sessions() {
			p, s := a.plan(k), a.session(k)
			for i := range s.Nodes {
				e, all := messagesOf(t, s, i)
				total := 0
				for _, m := range all {
					total += tok.Count(m.Content)
				}
				if q := p.requests[i]; total != q.prompt || e.Prompt.MaxTokens != q.answer || !e.Prompt.Exact || total+q.answer > shape.Context {
					t.Fatalf("%s: session %d, request %d: %d tokens and an answer of %d, want %d and %d, in a context of %d", name, k, i, total, e.Prompt.MaxTokens, q.prompt, q.answer, shape.Context)
				}
			}
			resets += p.resets
		}
		if resets == 0 {
			t.Errorf("%s: no reset", name)
		}
	}
}

// TestAgentHistory checks what a prompt has in common with the one before it.
func TestAgentHistory(t *testing.T) {
	a := newAgents(t, AgentsConfig{Texts: newTexts(t, builtinTokenizer(t), 5, ""), Seed: 5, Sessions: 40, AgentShape: smallAgents(t)})
	var histories, resets, joins int
	for k := range a.Sessions() {
		p, s := a.plan(k), a.session(k)
		all := make([][]message, len(s.Nodes))
		for i := range s.Nodes {
			_, all[i] = messagesOf(t, s, i)
		}
		for i, q := range p.requests {
			last := all[i][len(all[i])-1]
			switch {
			case q.before >= 0: // the prompt before, an answer, and what is new
				before := all[q.before]
				if n := len(before); len(all[i]) != n+2 || !slices.Equal(all[i][:n], before) || all[i][n].Role != "assistant" || last.Role != "user" {
					t.Errorf("session %d, request %d: %v after %v", k, i, all[i], before)
				}
				histories++
			case q.turn > 0: // the system prompt and one message
				if len(all[i]) != 2 || all[i][0] != all[0][0] && q.agent == 0 {
					t.Errorf("session %d, request %d: %v after a reset", k, i, all[i])
				}
				resets++
			}
			// The answers of sub-agents are in what is new, if the history is not cut short by the context.
			for _, e := range p.nodes[i].After {
				from := p.requests[e.From]
				if q.agent != 0 || from.agent == 0 || q.added.Total() == a.c.Context/4 {
					continue
				}
				if j := slices.IndexFunc(p.nodes, func(n workload.Node) bool {
					return n.Agent == from.agent && len(n.After) == 1 && n.After[0].From == e.From
				}); j >= 0 {
					t.Errorf("session %d, request %d waits for request %d, which is not the last one of its agent", k, i, e.From)
				}
				texts, _, err := a.c.Texts.Parts([]uint64{agentPart(partAnswer, k, from.agent, from.turn)}, []int{from.answer})
				if err != nil || !strings.Contains(last.Content, texts) {
					t.Errorf("session %d, request %d: %q lacks the answer %q (%v)", k, i, last.Content, texts, err)
				}
				joins++
			}
		}
	}
	if histories < 50 || resets < 5 || joins < 10 {
		t.Errorf("%d histories, %d resets, %d joins", histories, resets, joins)
	}
}

// TestAgentTextsKept checks that a request is the same whatever was made before it.
func TestAgentTextsKept(t *testing.T) {
	a := newAgents(t, AgentsConfig{Texts: newTexts(t, builtinTokenizer(t), 5, ""), Seed: 5, Sessions: 10, AgentShape: smallAgents(t)})
	k := 0
	for of := range a.Sessions() {
		s, alone := a.session(of), []byte(nil)
		turns := map[int]int{} // requests so far, by agent
		for i := range s.Nodes {
			e, err := s.Entry(i)
			if err != nil {
				t.Fatal(err)
			}
			if agent := s.Nodes[i].Agent; e.Session != s.ID || e.Turn != turns[agent] {
				t.Fatalf("request %d of %s: turn %d of session %q, want turn %d", i, s.ID, e.Turn, e.Session, turns[agent])
			}
			turns[s.Nodes[i].Agent]++
			one, err := a.At(k)
			if alone = one.Prompt.Messages; err != nil || !bytes.Equal(alone, e.Prompt.Messages) || one.Step != k || e.Step != k {
				t.Fatalf("request %d: %s after others, %s alone (%v)", k, e.Prompt.Messages, alone, err)
			}
			k++
		}
		// Texts of another set replace what was kept.
		next := slices.IndexFunc(a.plan(of).requests, func(q agentRequest) bool { return q.before >= 0 })
		if next < 0 {
			continue
		}
		if _, err := s.Entry(a.plan(of).requests[next].before); err != nil {
			t.Fatal(err)
		}
		a.c.Texts.Use(workload.Set{Level: 1}, "")
		got, err := s.Entry(next)
		want, err2 := a.session(of).Entry(next)
		a.c.Texts.Use(workload.Set{}, "")
		if err != nil || err2 != nil || !bytes.Equal(got.Prompt.Messages, want.Prompt.Messages) {
			t.Fatalf("a prompt of another set begins with texts of the first (%v, %v)", err, err2)
		}
	}
	if k != a.Len() {
		t.Errorf("%d requests, Len says %d", k, a.Len())
	}
}

// TestAgentSystemPrompts checks which sessions share which beginning.
func TestAgentSystemPrompts(t *testing.T) {
	shape := smallAgents(t)
	shape.SystemTokens, shape.GroupTokens, shape.SessionTokens, shape.Subagents = amount(t, "30"), amount(t, "20"), amount(t, "10"), amount(t, "2")
	a := newAgents(t, AgentsConfig{Texts: newTexts(t, builtinTokenizer(t), 5, ""), Seed: 5, Sessions: 7, AgentShape: shape})
	words := func(k, agent int) []string {
		s := a.session(k)
		i := slices.IndexFunc(s.Nodes, func(n workload.Node) bool { return n.Agent == agent })
		_, all := messagesOf(t, s, i)
		if all[0].Role != "system" {
			t.Fatalf("session %d, agent %d begins with %v", k, agent, all[0])
		}
		return strings.Fields(all[0].Content)
	}
	common := func(a, b []string) int { // tokens, which are words here
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		return builtinTokenizer(t).Count(strings.Join(a[:n], " "))
	}
	for _, tt := range []struct {
		name string
		a, b []string
		want int
	}{
		{"two groups", words(0, 0), words(1, 0), 30},
		{"one group", words(0, 0), words(3, 0), 50},
		{"one session", words(0, 0), words(0, 0), 60},
		{"sub-agents of two sessions", words(0, 1), words(4, 2), 25},
		{"agent and sub-agent", words(0, 0), words(0, 1), 0},
	} {
		if got := common(tt.a, tt.b); got < tt.want || got > tt.want+2 { // words after it can be equal by chance
			t.Errorf("%s: %d tokens in common, want %d", tt.name, got, tt.want)
		}
	}
}

// TestAgentsDeterministic checks that a session depends on the seed and its number alone.
func TestAgentsDeterministic(t *testing.T) {
	shape := smallAgents(t)
	texts := newTexts(t, builtinTokenizer(t), 5, "")
	few := newAgents(t, AgentsConfig{Texts: texts, Seed: 5, Sessions: 3, AgentShape: shape})
	many := newAgents(t, AgentsConfig{Texts: newTexts(t, builtinTokenizer(t), 5, ""), Seed: 5, Sessions: 300, AgentShape: shape})
	other := newAgents(t, AgentsConfig{Texts: newTexts(t, builtinTokenizer(t), 6, ""), Seed: 6, Sessions: 3, AgentShape: shape})
	text := func(a *Agents, k int) string {
		s := a.session(k)
		lines := []string{fmt.Sprint(s.ID, s.Nodes, s.Agents)}
		for i := range s.Nodes {
			e, err := s.Entry(i)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(e.Prompt.Messages), fmt.Sprint(e.Prompt.MaxTokens))
		}
		return strings.Join(lines, "\n")
	}
	for _, k := range []int{2, 0, 1} {
		if o := few.Outline(k); o != many.Outline(k) || o.Requests != len(few.session(k).Nodes) || o.ID != few.session(k).ID {
			t.Errorf("session %d: outlines %v and %v", k, o, many.Outline(k))
		}
		if text(few, k) != text(many, k) {
			t.Errorf("session %d depends on the number of sessions", k)
		}
		if text(few, k) == text(other, k) {
			t.Errorf("session %d does not depend on the seed", k)
		}
	}
}

// graph describes the requests of a session: agent:turn and what it waits for.
func graph(s *workload.Session) string {
	names, turns := make([]string, len(s.Nodes)), map[int]int{}
	var lines []string
	for i, n := range s.Nodes {
		names[i] = fmt.Sprintf("%d:%d", n.Agent, turns[n.Agent])
		turns[n.Agent]++
		line := names[i]
		for _, e := range n.After {
			line += fmt.Sprintf(" %s+%v", names[e.From], e.Delay)
		}
		if n.Continues >= 0 {
			line += " on " + names[n.Continues]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestAgentGraphs checks what waits for what.
func TestAgentGraphs(t *testing.T) {
	plain := AgentShape{
		Tasks: amount(t, "2"), Turns: amount(t, "2"), TaskTokens: amount(t, "9"), ToolTokens: amount(t, "9"), AnswerTokens: amount(t, "9"),
		ToolDelay: amount(t, "10"), ThinkTime: amount(t, "1000"), SubagentTurns: amount(t, "2"), Context: 1000,
	}
	for _, tt := range []struct {
		name   string
		live   bool
		change func(*AgentShape)
		want   string
	}{
		{"tasks", false, func(*AgentShape) {}, "0:0\n0:1 0:0+10ms\n0:2 0:1+1s\n0:3 0:2+10ms"},
		{"live", true, func(*AgentShape) {}, "0:0\n0:1 0:0+10ms on 0:0\n0:2 0:1+1s on 0:1\n0:3 0:2+10ms on 0:2"},
		{"live, all resets", true, func(s *AgentShape) { s.Resets = 1 }, "0:0\n0:1 0:0+10ms\n0:2 0:1+1s\n0:3 0:2+10ms"},
		{
			"two sub-agents", false, func(s *AgentShape) { s.Subagents, s.SubagentAfter = amount(t, "2"), amount(t, "1") },
			"0:0\n1:0 0:0+0s\n1:1 1:0+10ms\n2:0 0:0+0s\n2:1 2:0+10ms\n0:1 0:0+0s 1:1+0s 2:1+0s\n0:2 0:1+1s\n0:3 0:2+10ms",
		},
		{
			"joined by the next task", false, func(s *AgentShape) { s.Subagents, s.SubagentAfter = amount(t, "1"), amount(t, "2") },
			"0:0\n0:1 0:0+10ms\n1:0 0:1+0s\n1:1 1:0+10ms\n0:2 0:1+1s 1:1+1s\n0:3 0:2+10ms",
		},
		{
			"after the last one", false, func(s *AgentShape) { s.Subagents, s.SubagentAfter = amount(t, "1"), amount(t, "9") },
			"0:0\n0:1 0:0+10ms\n0:2 0:1+1s\n1:0 0:2+0s\n1:1 1:0+10ms\n0:3 0:2+0s 1:1+0s",
		},
		{
			"in the background", false, func(s *AgentShape) { s.Subagents, s.SubagentAfter, s.Background = amount(t, "1"), amount(t, "1"), 1 },
			"0:0\n1:0 0:0+0s\n1:1 1:0+10ms\n0:1 0:0+10ms\n0:2 0:1+1s\n0:3 0:2+10ms",
		},
		{
			"nothing could wait", false, func(s *AgentShape) { s.Tasks, s.Turns, s.Subagents = amount(t, "1"), amount(t, "1"), amount(t, "1") },
			"0:0\n1:0 0:0+0s\n1:1 1:0+10ms",
		},
	} {
		shape := plain
		tt.change(&shape)
		a := newAgents(t, AgentsConfig{Sessions: 1, Live: tt.live, AgentShape: shape})
		s := a.session(0)
		if got := graph(s); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if s.Recorded == tt.live {
			t.Errorf("%s: recorded %v", tt.name, s.Recorded)
		}
	}
}

// TestAgentLive checks that a request of a live session holds only what is new.
func TestAgentLive(t *testing.T) {
	c := AgentsConfig{Texts: newTexts(t, builtinTokenizer(t), 5, ""), Seed: 5, Sessions: 10, AgentShape: smallAgents(t)}
	whole := newAgents(t, c)
	c.Live = true
	live := newAgents(t, c)
	for k := range live.Sessions() {
		s, w := live.session(k), whole.session(k)
		for i, n := range s.Nodes {
			e, got := messagesOf(t, s, i)
			_, want := messagesOf(t, w, i)
			if n.Continues >= 0 {
				want = want[len(want)-1:]
			}
			if e.Whole || !slices.Equal(got, want) {
				t.Fatalf("session %d, request %d: %v, want %v", k, i, got, want)
			}
		}
	}
}

// TestAgentMeans checks the means of what is drawn against the means of the laws.
func TestAgentMeans(t *testing.T) {
	shape := smallAgents(t)
	shape.Resets, shape.Context = 0, 1<<20
	shape.ToolTokens = amount(t, "uniform:10,30")
	shape.Tasks, shape.Subagents = amount(t, "uniform:1,3"), amount(t, "25%:uniform:1,3")
	a := newAgents(t, AgentsConfig{Seed: 3, Sessions: 4000, AgentShape: shape})
	sums, counts := map[string]float64{}, map[string]float64{}
	add := func(what string, x float64) { sums[what] += x; counts[what]++ }
	for k := range a.Sessions() {
		p, c := a.plan(k), a.counts(k)
		add("tasks", float64(len(c.tasks)))
		add("turns", float64(c.turns)/float64(len(c.tasks)))
		add("sub-agents", float64(len(c.subs)))
		for _, sub := range c.subs {
			add("turns of sub-agents", float64(sub.turns))
			background := 0.0
			if sub.background && c.turns > 1 {
				background = 1
			}
			if c.turns > 1 {
				add("background", background)
			}
		}
		for i, q := range p.requests {
			add("answers", float64(q.answer))
			if after := p.nodes[i].After; q.turn > 0 && q.agent > 0 {
				add("tools", float64(q.added.Total()))
				add("delays", after[0].Delay.Seconds()*1000)
			}
		}
	}
	for what, want := range map[string]float64{
		"tasks": 2, "turns": 2.5, "sub-agents": 0.5, "turns of sub-agents": 2, "background": 0.3, "answers": 10, "tools": 20, "delays": 15,
	} {
		if got := sums[what] / counts[what]; math.Abs(got-want) > 0.05*want+0.03 {
			t.Errorf("%s: %.3f on average, want %.3f", what, got, want)
		}
	}
}

// TestAgentFacts checks the possible hit against prompts compared word by word.
func TestAgentFacts(t *testing.T) {
	tok := builtinTokenizer(t)
	shape := smallAgents(t)
	shape.Subagents, shape.SubagentTurns = amount(t, "50%:1"), amount(t, "2")
	for _, live := range []bool{false, true} {
		c := AgentsConfig{Texts: newTexts(t, tok, 5, ""), Seed: 5, Sessions: 12, AgentShape: shape}
		a := newAgents(t, c)
		var prompt, answers, possible int64
		longest := 0
		seen := [][]message{}
		for k := range a.Sessions() {
			p, s := a.plan(k), a.session(k)
			for i, q := range p.requests {
				_, all := messagesOf(t, s, i)
				n, best := 0, 0
				for _, m := range all {
					n += tok.Count(m.Content)
				}
				for _, before := range seen {
					best = max(best, commonTokens(tok, before, all))
				}
				prompt, answers, possible, longest = prompt+int64(n), answers+int64(q.answer), possible+int64(best), max(longest, n)
				if live { // the answer is known to the cache, too
					text, _, err := c.Texts.Parts([]uint64{agentPart(partAnswer, k, q.agent, q.turn)}, []int{q.answer})
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, message{"assistant", text})
				}
				seen = append(seen, all)
			}
		}
		c.Live, c.Texts = live, nil
		f := newAgents(t, c).Facts(100, 1<<20)
		if f.Prompt != prompt || f.Answer != answers || f.Longest != longest || f.Graphs.Sessions != 12 || f.Graphs.Requests != a.Len() {
			t.Errorf("%+v, want prompts of %d, answers of %d, longest %d", f, prompt, answers, longest)
		}
		// Words after a common beginning can be equal by chance.
		if d := float64(possible-f.Possible) / float64(prompt); d < 0 || d > 0.005 {
			t.Errorf("live %v: %d tokens could be cached, the prompts have %d in common", live, f.Possible, possible)
		}
	}
	// The first sessions stand for all.
	a := newAgents(t, AgentsConfig{Sessions: 2000, AgentShape: shape})
	few, all := a.Facts(1000, 1<<20), a.Facts(2000, 1<<20)
	near := func(x, y float64) bool { return math.Abs(x-y) < 0.1*y }
	if g := few.Graphs; few.Sessions != 1000 || few.Requests >= all.Requests || g.Sessions != 2000 || g.Recorded != 2000 || g.Requests != a.Len() || all.Sessions != 2000 ||
		!near(float64(g.Agents), float64(all.Graphs.Agents)) || !near(float64(g.Joins), float64(all.Graphs.Joins)) || !near(float64(g.Idle), float64(all.Graphs.Idle)) {
		t.Errorf("facts of half of the sessions: %+v, of all: %+v", few, all)
	}
}

// commonTokens returns the tokens of the longest common beginning of two prompts.
func commonTokens(tok Tokenizer, a, b []message) int {
	total := 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			total += tok.Count(a[i].Content)
			continue
		}
		x, y, n := strings.Fields(a[i].Content), strings.Fields(b[i].Content), 0
		for a[i].Role == b[i].Role && n < len(x) && n < len(y) && x[n] == y[n] {
			n++
		}
		return total + tok.Count(strings.Join(x[:n], " "))
	}
	return total
}

// TestAgentProfiles checks that the profiles can be made, and their means as the documentation gives them.
func TestAgentProfiles(t *testing.T) {
	if got, want := AgentProfiles(), []string{"chat-tools", "coding", "deep-research"}; !slices.Equal(got, want) {
		t.Errorf("profiles %v, want %v", got, want)
	}
	for _, tt := range []struct {
		name                 string
		least, most          float64 // requests of a session
		shortest, longest    float64 // mean prompt
		reusedMin, reusedMax float64
	}{
		{"coding", 50, 130, 30000, 100000, 0.9, 1},
		{"chat-tools", 8, 15, 3000, 5000, 0.8, 1},
		{"deep-research", 40, 65, 10000, 25000, 0.8, 1},
	} {
		shape, ok := AgentProfile(tt.name)
		if !ok {
			t.Fatal(tt.name)
		}
		f := newAgents(t, AgentsConfig{Seed: 1, Sessions: 300, AgentShape: shape}).Facts(300, 1<<30)
		requests, prompt, reused := float64(f.Graphs.Requests)/300, float64(f.Prompt)/float64(f.Graphs.Requests), float64(f.Possible)/float64(f.Prompt)
		t.Logf("%s: %.1f requests, prompts of %.0f and at most %d, answers of %.0f, %.1f %% reused, %d resets, %d sub-agents", tt.name, requests, prompt, f.Longest, float64(f.Answer)/float64(f.Graphs.Requests), 100*reused, f.Resets, f.Graphs.Agents)
		if requests < tt.least || requests > tt.most || prompt < tt.shortest || prompt > tt.longest || reused < tt.reusedMin || reused > tt.reusedMax {
			t.Errorf("%s: %.1f requests, prompts of %.0f, %.2f reused", tt.name, requests, prompt, reused)
		}
	}
	if _, ok := AgentProfile("other"); ok {
		t.Error("a profile of any name")
	}
}

// TestAgentMistakes checks the errors of a shape.
func TestAgentMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(*AgentsConfig)
	}{
		{"no sessions", "0 sessions: must be from 1", func(c *AgentsConfig) { c.Sessions = 0 }},
		{"no tasks", "tasks: 0: must be at least 1", func(c *AgentsConfig) { c.Tasks = Amount{} }},
		{"sometimes no turn", "turns: 50%:fixed:2: must be at least 1", func(c *AgentsConfig) { c.Turns = amount(t, "50%:2") }},
		{"a wrong law", "tokens of a tool: upper end", func(c *AgentsConfig) { c.ToolTokens = Amount{Law: Uniform{1, -1}} }},
		{"share", "share of resets: 2: must be from 0 to 1", func(c *AgentsConfig) { c.Resets = 2 }},
		{"groups without tokens", "3 groups with 0 tokens each: give both or none", func(c *AgentsConfig) { c.GroupTokens = Amount{} }},
		{"context", "a context of 10 tokens: must be from 64", func(c *AgentsConfig) { c.Context = 10 }},
		{"system prompt", "tokens of the system prompt: 340 on average: make it shorter or the context longer; half of the context is 200", func(c *AgentsConfig) { c.SystemTokens, c.SessionTokens = amount(t, "320"), Amount{} }},
		{"answers", "tokens of an answer: 101 on average: make it shorter or the context longer; a quarter of the context is 100", func(c *AgentsConfig) { c.AnswerTokens = amount(t, "101") }},
		{"too many turns", "requests of an agent, tasks × turns: 40000 on average: an agent has at most 10000", func(c *AgentsConfig) { c.Tasks, c.Turns = amount(t, "200"), amount(t, "200") }},
		{"too many requests", "the sessions have more than 268435456 requests", func(c *AgentsConfig) {
			c.Sessions, c.Tasks, c.Turns, c.Subagents = 30000, amount(t, "1"), amount(t, "10000"), Amount{}
		}},
	} {
		c := AgentsConfig{Sessions: 1, AgentShape: smallAgents(t)}
		tt.change(&c)
		if _, err := NewAgents(c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestAmounts checks the texts of amounts.
func TestAmounts(t *testing.T) {
	for _, tt := range []struct {
		text, canonical string
		mean            float64
	}{
		{"0", "0", 0}, {"7", "fixed:7", 7}, {"2%:uniform:1,3", "2%:uniform:1,3", 0.04}, {"100%:5", "100%:fixed:5", 5}, {"lognormal:10,3", "lognormal:10,3", 10},
	} {
		a := amount(t, tt.text)
		if again := amount(t, a.String()); a.String() != tt.canonical || again.String() != tt.canonical || a.Mean() != tt.mean {
			t.Errorf("%s is %v with mean %v, want %s with %v", tt.text, a, a.Mean(), tt.canonical, tt.mean)
		}
		if js, err := json.Marshal(a); err != nil || string(js) != fmt.Sprintf("%q", tt.canonical) {
			t.Errorf("%s as JSON: %s (%v)", tt.text, js, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "0%:3", "101%:3", "NaN%:3", "5%:", "5%:0", "uniform:0,3"} {
		if a, err := ParseAmount(text); err == nil {
			t.Errorf("%q is %v", text, a)
		}
	}
}

// FuzzParseAmount checks that an amount is read again as itself.
func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"0", "7", "2%:uniform:1,3", "1e-9%:normal:3,1", "50%:lognormal:1,2", "%:", "histogram:x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "histogram") {
			t.Skip("the law may be read from a file, whose name the text holds")
		}
		a, err := ParseAmount(text)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if again, err := ParseAmount(a.String()); err != nil || again != a {
			t.Errorf("%q is %v, and that %v (%v)", text, a, again, err)
		}
	})
}
