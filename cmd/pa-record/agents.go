package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

// defaultAgentProfile is the value of --agent-profile.
const defaultAgentProfile = "coding"

// agentSettings are made-up agents.
type agentSettings struct {
	Sessions int    `json:"agents"`
	Profile  string `json:"profile"`
	synth.AgentShape

	facts synth.AgentFacts // of the sessions, once they are made
}

// agentAmount is a flag whose value is an amount.
type agentAmount struct {
	flag, usage string
	at          *synth.Amount
}

// agentAmounts returns the flags with an amount, which set a shape.
func agentAmounts(x *synth.AgentShape) []agentAmount {
	return []agentAmount{
		{"agent-system-tokens", "begin the agent of each session with a system prompt of `AMOUNT` tokens, one text for all sessions; AMOUNT is 0, a LAW of --synthetic-input-tokens, or P%:LAW, which follows LAW in P % of the draws and is 0 in the others", &x.SystemTokens},
		{"agent-group-tokens", "then `AMOUNT` tokens that the sessions of a group share", &x.GroupTokens},
		{"agent-session-tokens", "then `AMOUNT` tokens of the session's own", &x.SessionTokens},
		{"agent-tasks", "the user gives `AMOUNT` tasks in a session, one after the other", &x.Tasks},
		{"agent-turns", "`AMOUNT` requests for a task: the first holds the task, each later one the result of a tool", &x.Turns},
		{"agent-task-tokens", "a task has `AMOUNT` tokens", &x.TaskTokens},
		{"agent-tool-tokens", "a tool returns `AMOUNT` tokens", &x.ToolTokens},
		{"agent-answer-tokens", "ask for answers of exactly `AMOUNT` tokens (min_tokens, ignore_eos)", &x.AnswerTokens},
		{"agent-tool-delay", "a tool returns `AMOUNT` ms after the answer that calls it", &x.ToolDelay},
		{"agent-think-time", "the user waits `AMOUNT` ms between the end of a task and the next one", &x.ThinkTime},
		{"agent-subagents", "a session has `AMOUNT` sub-agents; the agent's next request holds their last answers", &x.Subagents},
		{"agent-subagent-after", "sub-agents begin after request `AMOUNT` of the session's agent; 0 is any", &x.SubagentAfter},
		{"agent-subagent-turns", "a sub-agent sends `AMOUNT` requests", &x.SubagentTurns},
		{"agent-subagent-tokens", "begin sub-agents with a system prompt of `AMOUNT` tokens, one text for all", &x.SubagentTokens},
	}
}

// agentPart is a flag whose value is a part of a whole.
type agentPart struct {
	flag, usage string
	at          *float64
}

// agentParts returns the flags with a part of a whole, which set a shape.
func agentParts(x *synth.AgentShape) []agentPart {
	return []agentPart{
		{"agent-background", "`PART` of the sub-agents run in the background: no request waits for them; 0.1 or 10%", &x.Background},
		{"agent-resets", "replace the history by a shorter text before `PART` of the later requests, like agents that compact their context", &x.Resets},
		{"agent-reset-keep", "the shorter text has `PART` of the tokens of the history", &x.ResetKeep},
	}
}

// agentFlags returns the flags of made-up agents.
func agentFlags() []cli.Flag {
	const ofProfile = "of the profile"
	flags := []cli.Flag{
		&cli.IntFlag{Name: "agents", Category: catAgents, Usage: "generate `N` sessions of agents; --num-sessions generates plain conversations"},
		&cli.StringFlag{Name: "agent-profile", Category: catAgents, Usage: "take the settings that no other flag sets from the profile `NAME`: " + strings.Join(synth.AgentProfiles(), ", "), DefaultText: defaultAgentProfile},
		&cli.IntFlag{Name: "agent-groups", Category: catAgents, Usage: "`N` groups of sessions, which take turns", DefaultText: "0"},
		&cli.IntFlag{Name: "agent-context", Category: catAgents, Usage: "reset the history where a prompt with its answer would exceed `N` tokens", DefaultText: ofProfile},
	}
	for _, f := range agentAmounts(&synth.AgentShape{}) {
		flags = append(flags, readsLaw(&cli.StringFlag{Name: f.flag, Category: catAgents, Usage: f.usage, DefaultText: ofProfile}))
	}
	for _, f := range agentParts(&synth.AgentShape{}) {
		flags = append(flags, &cli.StringFlag{Name: f.flag, Category: catAgents, Usage: f.usage, DefaultText: ofProfile})
	}
	return flags
}

// agents reads the flags of made-up agents.
func (p *parser) agents(s *settings) {
	c, x := p.c, &agentSettings{Profile: defaultAgentProfile}
	if name := c.String("agent-profile"); name != "" {
		x.Profile = name
	}
	shape, ok := synth.AgentProfile(x.Profile)
	p.refuse(!ok, "--agent-profile %s: expected one of %s", x.Profile, strings.Join(synth.AgentProfiles(), ", "))
	x.AgentShape = shape
	given := p.given("agent-profile", "agent-groups", "agent-context")
	wrong := !ok
	for _, f := range agentAmounts(&x.AgentShape) {
		if !c.IsSet(f.flag) {
			continue
		}
		given = append(given, f.flag)
		var err error
		if *f.at, err = synth.ParseAmount(c.String(f.flag)); err != nil {
			p.errorf("--%s %s: %w", f.flag, c.String(f.flag), err)
			wrong = true
		}
	}
	for _, f := range agentParts(&x.AgentShape) {
		if !c.IsSet(f.flag) {
			continue
		}
		given = append(given, f.flag)
		var err error
		if *f.at, err = parsePart(c.String(f.flag)); err != nil {
			p.errorf("--%s %s: %w", f.flag, c.String(f.flag), err)
			wrong = true
		}
	}
	if !c.IsSet("agents") {
		for _, flag := range given {
			p.errorOnce(flag, "--%s belongs to --agents; give that, or drop it", flag)
		}
		return
	}
	s.madeUp = true
	if x.Sessions = p.positive("agents", c.Int("agents")); x.Sessions == 0 {
		return
	}
	s.Agents = x
	if c.IsSet("agent-groups") {
		x.Groups = c.Int("agent-groups")
	}
	if c.IsSet("agent-context") {
		x.Context = c.Int("agent-context")
	}
	if err := x.Validate(); err != nil && !wrong {
		p.errorf("--agents: %w", err)
	}
	p.agentsAlone(s)
}

// agentsAlone refuses what excludes made-up agents.
func (p *parser) agentsAlone(s *settings) {
	api, _ := s.api()
	p.refuse(s.ServiceKind != kindOpenAI || api != render.Chat && api != render.Responses, "--agents needs --service-kind openai and its chat endpoint, or v1/responses")
	p.refuse(len(s.InputData) > 0 || s.namesDataset(), "--agents and --input-data or --dataset exclude each other: --agents generates the inputs; drop one")
	p.refuse(p.c.IsSet("num-sessions"), "--agents and --num-sessions exclude each other: --agents generates agents, --num-sessions plain conversations; drop one")
	for _, of := range []struct{ flag, instead string }{
		{"synthetic-input-tokens", "--agent-task-tokens, --agent-tool-tokens and the like"}, {"output-tokens", "--agent-answer-tokens"},
	} {
		for _, one := range p.given(of.flag, of.flag+"-mean", of.flag+"-stddev") {
			p.errorOnce(one, "--%s: the lengths of synthetic agents come from %s; drop it", one, of.instead)
		}
	}
	for _, one := range p.given("output-tokens-mean-deterministic") {
		p.errorOnce(one, "--%s: the answers to synthetic agents have exact lengths without it; drop it", one)
	}
	for _, one := range p.given("num-prefix-prompts", "prefix-prompt-length") {
		p.errorOnce(one, "--%s: synthetic agents begin with --agent-system-tokens and --agent-group-tokens; drop it", one)
	}
	for _, one := range p.given("num-dataset-entries") {
		p.errorOnce(one, "--%s: --agents is the number of sessions; drop it", one)
	}
	p.refuse(s.hasMedia(), "--agents: the requests of synthetic agents hold text only; drop the flags for images and audio")
}

// makeAgents makes up sessions of agents; texts may be nil if their requests are not needed.
func (e *inputData) makeAgents(s *settings, texts *synth.Texts) error {
	live := s.SessionHistory == liveHistory || s.SessionHistory == serverHistory
	all, err := synth.NewAgents(synth.AgentsConfig{Texts: texts, Seed: s.Seed, Sessions: s.Agents.Sessions, Live: live, AgentShape: s.Agents.AgentShape})
	if err != nil {
		return fmt.Errorf("--agents: %w", err)
	}
	// Facts of more requests would take seconds.
	const mostSessions, mostRequests = 20_000, 500_000
	facts := all.Facts(mostSessions, mostRequests)
	s.Agents.facts = facts
	if s.DelayRatio != nil {
		facts.Graphs.Waiting, facts.Graphs.Idle = time.Duration(float64(facts.Graphs.Waiting)**s.DelayRatio), time.Duration(float64(facts.Graphs.Idle)**s.DelayRatio)
	}
	e.Source, e.sessions = all, &facts.Graphs
	e.meta = &export.DatasetMeta{Entries: all.Len(), Order: s.Order, Assumed: []string{"the results of tools and sub-agents are sent as messages of the user"}}
	if live {
		e.meta.Assumed = append(e.meta.Assumed, "the result of a sub-agent is generated, with the length of its last answer")
	}
	e.notes = append(e.notes, s.Agents.lengths())
	return nil
}

// lengths describes the lengths of the requests.
func (x *agentSettings) lengths() string {
	f, of := &x.facts, ""
	if f.Sessions < x.Sessions {
		of = fmt.Sprintf(" (by the first %s)", plural.GroupedOf(f.Sessions, "session"))
	}
	mean := func(sum int64) string { return plural.Grouped((sum + int64(f.Requests)/2) / int64(f.Requests)) }
	resets := ""
	if f.Resets > 0 {
		resets = fmt.Sprintf("; %s of the history", plural.GroupedOf(f.Resets, "reset"))
	}
	return fmt.Sprintf("synthetic agents%s: prompts of %s tokens on average and %s at most, answers of %s%s; with the sessions in turn, an unlimited prefix cache could hold %.1f %% of the prompt tokens",
		of, mean(f.Prompt), plural.Grouped(f.Longest), mean(f.Answer), resets, 100*float64(f.Possible)/float64(f.Prompt))
}

// forecastFacts sets the facts of the made-up agents in src, whose graphs are given.
func (x *agentSettings) forecastFacts(d *forecast.Facts, graphs *workload.SessionFacts) {
	f := &x.facts
	of := func(sum int64, what string) recorder.Figure {
		return recorder.Figure{Value: float64(sum) / float64(f.Requests), Bound: recorder.About, Basis: what + " of " + plural.GroupedOf(f.Requests, "synthetic request")}
	}
	d.Input, d.Output = of(f.Prompt, "prompts"), of(f.Answer, "answers")
	d.InputBytes = d.Input.Value * forecast.TextPerToken
	d.Sessions, d.Thinking = graphs, graphs.Idle
}

// always reports whether an amount of made-up agents is always n; false for nil.
func (x *agentSettings) always(n int, of func(*agentSettings) synth.Amount) bool {
	if x == nil {
		return false
	}
	fixed, ok := of(x).Law.(synth.Fixed)
	return ok && fixed.N == n && of(x).Percent == 0
}

// made reports whether all sessions were looked at.
func (x *agentSettings) made() bool { return x != nil && x.facts.Sessions == x.Sessions }

// withoutSubagents reports whether no session has sub-agents, which may be known only when the sessions are made.
func (x *agentSettings) withoutSubagents() bool {
	return x != nil && x.Subagents.Law == nil || x.made() && x.facts.Graphs.Agents == 0
}

// withoutResets reports whether the sessions are made and no history of theirs is reset.
func (x *agentSettings) withoutResets() bool { return x.made() && x.facts.Resets == 0 }

// withoutDelays reports whether the sessions are made and have no delays.
func (x *agentSettings) withoutDelays() bool { return x.made() && x.facts.Graphs.Delays == 0 }

// onlyBackground reports whether no request can wait for a sub-agent.
func (x *agentSettings) onlyBackground() bool {
	one := func(of func(*agentSettings) synth.Amount) bool { return x.always(1, of) }
	return one(func(x *agentSettings) synth.Amount { return x.Tasks }) && one(func(x *agentSettings) synth.Amount { return x.Turns })
}
