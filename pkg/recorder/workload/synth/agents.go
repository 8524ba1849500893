package synth

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// An AgentShape describes made-up agents. A session is a user who gives tasks to an agent, one after the other. For each task the agent sends some
// requests: the first holds the task, and each other one holds what a tool has returned. Sub-agents begin after a request of the
// agent, with a system prompt and a task of their own, and the next request of the agent holds their last answers.
type AgentShape struct {
	// The system prompt of an agent is one text of SystemTokens that all sessions share, one of GroupTokens that each of
	// Groups groups of sessions shares, and one of SessionTokens of its own. Each length of a shared text is drawn once.
	SystemTokens  Amount `json:"system_tokens"`
	Groups        int    `json:"groups,omitempty"`
	GroupTokens   Amount `json:"group_tokens"`
	SessionTokens Amount `json:"session_tokens"`

	Tasks        Amount `json:"tasks"`         // of a session, at least 1
	Turns        Amount `json:"turns"`         // requests of a task, at least 1
	TaskTokens   Amount `json:"task_tokens"`   // of the user's message, at least 1
	ToolTokens   Amount `json:"tool_tokens"`   // of what a tool returns, at least 1
	AnswerTokens Amount `json:"answer_tokens"` // at least 1
	ToolDelay    Amount `json:"tool_delay"`    // ms between an answer and the next request of a task
	ThinkTime    Amount `json:"think_time"`    // ms between the last answer of a task and the next task

	Subagents Amount `json:"subagents"` // of a session
	// SubagentAfter is the request of the session's agent, from 1, after which a sub-agent begins; 0 draws any. Of a later one
	// it is the last but one.
	SubagentAfter  Amount `json:"subagent_after"`
	SubagentTurns  Amount `json:"subagent_turns"`  // requests of a sub-agent, at least 1
	SubagentTokens Amount `json:"subagent_tokens"` // of the system prompt that all sub-agents share
	// Background is the share of sub-agents that the agent does not wait for, from 0 to 1.
	Background float64 `json:"background,omitempty"`

	// Resets is the share of later requests of an agent before which its history is replaced by a text of ResetKeep of its
	// tokens, both from 0 to 1. It is also replaced where a prompt and its answer would have more than Context tokens.
	Resets    float64 `json:"resets,omitempty"`
	ResetKeep float64 `json:"reset_keep"`
	Context   int     `json:"context"`
}

// Bounds of a session, so that a long tail does not exhaust the memory, and the least context.
const (
	mostAgentTurns    = 10_000 // of an agent
	mostSubagents     = 100
	mostSubagentTurns = 1000
	leastContext      = 64
)

// Validate reports all mistakes of s at once.
func (s *AgentShape) Validate() error {
	var errs []error
	check := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	check("tokens of the system prompt", s.SystemTokens.Validate())
	check("tokens of a group", s.GroupTokens.Validate())
	check("tokens of a session", s.SessionTokens.Validate())
	check("tasks", s.Tasks.positive())
	check("turns", s.Turns.positive())
	check("tokens of a task", s.TaskTokens.positive())
	check("tokens of a tool", s.ToolTokens.positive())
	check("tokens of an answer", s.AnswerTokens.positive())
	check("delay of a tool", s.ToolDelay.Validate())
	check("think time", s.ThinkTime.Validate())
	check("sub-agents", s.Subagents.Validate())
	check("request before a sub-agent", s.SubagentAfter.Validate())
	if s.Subagents.Law != nil {
		check("turns of a sub-agent", s.SubagentTurns.positive())
	}
	check("tokens of the sub-agents' system prompt", s.SubagentTokens.Validate())
	for _, one := range []struct {
		what  string
		share float64
	}{{"share in the background", s.Background}, {"share of resets", s.Resets}, {"share that a reset keeps", s.ResetKeep}} {
		if !(one.share >= 0 && one.share <= 1) {
			errs = append(errs, fmt.Errorf("%s: %v: must be from 0 to 1", one.what, one.share))
		}
	}
	if s.Groups < 0 || s.Groups > maxEntries {
		errs = append(errs, fmt.Errorf("%d groups: must be from 0 to %d", s.Groups, maxEntries))
	}
	if (s.Groups > 0) != (s.GroupTokens.Law != nil) {
		errs = append(errs, fmt.Errorf("%d groups with %v tokens each: give both or none", s.Groups, s.GroupTokens))
	}
	if s.Context < leastContext || s.Context > maxLength {
		errs = append(errs, fmt.Errorf("a context of %d tokens: must be from %d to %d", s.Context, leastContext, maxLength))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return s.validateLengths()
}

// validateLengths reports means that the bounds of a session cut.
func (s *AgentShape) validateLengths() error {
	var errs []error
	for _, one := range []struct {
		what  string
		mean  float64
		most  int
		bound string
	}{
		{"requests of an agent, tasks × turns", s.Tasks.Mean() * s.Turns.Mean(), mostAgentTurns, "an agent has at most"},
		{"sub-agents", s.Subagents.Mean(), mostSubagents, "a session has at most"},
		{"turns of a sub-agent", s.SubagentTurns.Mean(), mostSubagentTurns, "a sub-agent has at most"},
		{"tokens of the system prompt", s.SystemTokens.Mean() + s.GroupTokens.Mean() + s.SessionTokens.Mean(), s.Context / 2, "make it shorter or the context longer; half of the context is"},
		{"tokens of the sub-agents' system prompt", s.SubagentTokens.Mean(), s.Context / 2, "make it shorter or the context longer; half of the context is"},
		{"tokens of a task", s.TaskTokens.Mean(), s.Context / 4, "make it shorter or the context longer; a quarter of the context is"},
		{"tokens of a tool", s.ToolTokens.Mean(), s.Context / 4, "make it shorter or the context longer; a quarter of the context is"},
		{"tokens of an answer", s.AnswerTokens.Mean(), s.Context / 4, "make it shorter or the context longer; a quarter of the context is"},
	} {
		if one.mean > float64(one.most) {
			errs = append(errs, fmt.Errorf("%s: %.6g on average: %s %d", one.what, one.mean, one.bound, one.most))
		}
	}
	return errors.Join(errs...)
}

// AgentsConfig describes the sessions of Agents.
type AgentsConfig struct {
	// Texts makes the texts. Without it, requests are errors, and only the graphs and lengths of the sessions are known.
	Texts    *Texts
	Seed     uint64
	Sessions int // at least 1
	// Live makes a request hold only what is new: the history are the messages that were sent and the live answers. Otherwise each
	// request holds its whole history with made-up answers.
	Live bool
	AgentShape
}

// Agents are made-up sessions of agents. They implement workload.Sessions. A session is made when it is opened, and depends only on the
// seed, the shape and its number.
type Agents struct {
	c    AgentsConfig
	ends []uint32 // number of requests up to the end of each session
}

var _ workload.Sessions = (*Agents)(nil)

// NewAgents returns sessions of agents. The error is from the shape, or about the number of sessions.
func NewAgents(c AgentsConfig) (*Agents, error) {
	if c.Sessions < 1 || c.Sessions > maxEntries {
		return nil, fmt.Errorf("%d sessions: must be from 1 to %d", c.Sessions, maxEntries)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	a := &Agents{c: c, ends: make([]uint32, c.Sessions)}
	total := 0
	for k := range a.ends {
		if total += a.counts(k).requests(); total > maxEntries {
			return nil, fmt.Errorf("the sessions have more than %d requests", maxEntries)
		}
		a.ends[k] = uint32(total) //nolint:gosec // checked
	}
	return a, nil
}

// Len implements workload.Source.
func (a *Agents) Len() int { return int(a.ends[len(a.ends)-1]) }

// first returns the number of the first request of session k.
func (a *Agents) first(k int) int {
	if k == 0 {
		return 0
	}
	return int(a.ends[k-1])
}

// At implements workload.Source. The error is the request's.
func (a *Agents) At(k int) (workload.Entry, error) {
	of := sort.Search(len(a.ends), func(i int) bool { return int(a.ends[i]) > k })
	return a.session(of).Entry(k - a.first(of))
}

// Sessions implements workload.Sessions.
func (a *Agents) Sessions() int { return len(a.ends) }

// Outline implements workload.Sessions.
func (a *Agents) Outline(k int) workload.Outline {
	return workload.Outline{ID: agentID(k), Requests: int(a.ends[k]) - a.first(k)}
}

// Open implements workload.Sessions; there is no error.
func (a *Agents) Open(k int) (*workload.Session, error) { return a.session(k), nil }

// agentID returns the id of session k.
func agentID(k int) string { return fmt.Sprintf("agent-%d", k) }

// agentCounts are the numbers of requests in a session.
type agentCounts struct {
	tasks []int // turns of each task
	turns int   // of all tasks
	subs  []subagentCounts
}

// subagentCounts is a sub-agent of a session.
type subagentCounts struct {
	after      int // the turn after which it begins
	turns      int
	background bool
}

// counts draws the numbers of requests of session k.
func (a *Agents) counts(k int) agentCounts {
	r, s := source(a.c.Seed, forAgents, uint64(k)), &a.c.AgentShape //nolint:gosec // not negative
	var c agentCounts
	for range s.Tasks.Draw(r) {
		if c.turns == mostAgentTurns {
			break
		}
		n := min(s.Turns.Draw(r), mostAgentTurns-c.turns)
		c.tasks = append(c.tasks, n)
		c.turns += n
	}
	for range min(s.Subagents.Draw(r), mostSubagents) {
		last := max(c.turns-2, 0) // after which a turn can wait for it
		after := s.SubagentAfter.Draw(r) - 1
		if after < 0 {
			after = r.IntN(last + 1)
		}
		c.subs = append(c.subs, subagentCounts{min(after, last), min(s.SubagentTurns.Draw(r), mostSubagentTurns), happens(r, s.Background)})
	}
	slices.SortStableFunc(c.subs, func(x, y subagentCounts) int { return x.after - y.after })
	return c
}

// requests returns the number of requests of the session.
func (c agentCounts) requests() int {
	n := c.turns
	for _, sub := range c.subs {
		n += sub.turns
	}
	return n
}

// happens draws whether something happens that has this probability.
func happens(r *rand.Rand, probability float64) bool {
	return probability > 0 && r.Float64() < probability
}
