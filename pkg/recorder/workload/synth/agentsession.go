package synth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// The parts of the texts of agents.
const (
	partSystem = iota
	partGroup
	partSession
	partSubagent
	partTask
	partTool
	partAnswer
	partSummary
)

// agentPart returns the name of a part.
func agentPart(kind int, of ...int) uint64 {
	h := fnv.New64a()
	b := binary.LittleEndian.AppendUint64(nil, uint64(kind)) //nolint:gosec // not negative
	for _, n := range of {
		b = binary.LittleEndian.AppendUint64(b, uint64(n)) //nolint:gosec // not negative
	}
	h.Write(b)
	return h.Sum64()
}

// An agentRequest is a request of an agent.
type agentRequest struct {
	agent int
	turn  int // of the agent, from 0
	// before is the request whose prompt and answer the prompt goes on from; −1 for a prompt that begins with the system prompt.
	before  int
	summary int                // tokens of the text in place of the history before a reset; 0 for none
	added   workload.TextParts // what is new
	answer  int                // tokens
	prompt  int                // tokens, with the history
}

// An agentPlan is a session without its texts.
type agentPlan struct {
	session  int
	agents   []workload.Agent
	heads    []workload.TextParts // system prompt of each agent
	requests []agentRequest
	nodes    []workload.Node
	resets   int

	shape *AgentShape
	r     *rand.Rand // of lengths and delays
	last  []int      // request of each agent; −1 for none
}

// plan draws session k.
func (a *Agents) plan(k int) *agentPlan {
	s, counts := &a.c.AgentShape, a.counts(k)
	p := &agentPlan{session: k, shape: s, r: source(a.c.Seed, forAgentLengths, uint64(k))} //nolint:gosec // not negative
	p.agents = []workload.Agent{{Parent: -1}}
	p.heads, p.last = []workload.TextParts{a.head(k, p.r)}, []int{-1}
	n := counts.requests()
	p.requests, p.nodes = make([]agentRequest, 0, n), make([]workload.Node, 0, n)

	var waits []int // last requests of the sub-agents that the next request waits for
	subs := counts.subs
	for task, turns := range counts.tasks {
		for i := range turns {
			p.addTurn(task, i, waits)
			waits = nil
			turn, root := len(p.requests)-1, p.requests[len(p.requests)-1].turn
			for len(subs) > 0 && subs[0].after == root {
				last := p.addSubagent(a.subagentHead(), subs[0].turns, turn)
				if !subs[0].background {
					waits = append(waits, last)
				}
				subs = subs[1:]
			}
		}
	}
	if len(p.agents) == 1 {
		p.agents = nil
	}
	return p
}

// lengthOf draws a length that all sessions share.
func (a *Agents) lengthOf(law Amount, kind, of int) int {
	return law.Draw(source(a.c.Seed, forAgentHeads, agentPart(kind, of)>>8))
}

// head returns the system prompt of session k, whose own part r draws.
func (a *Agents) head(k int, r *rand.Rand) (p workload.TextParts) {
	s := &a.c.AgentShape
	p.Add(agentPart(partSystem), a.lengthOf(s.SystemTokens, partSystem, 0))
	if s.Groups > 0 {
		group := k % s.Groups
		p.Add(agentPart(partGroup, group), a.lengthOf(s.GroupTokens, partGroup, group))
	}
	p.Add(agentPart(partSession, k), s.SessionTokens.Draw(r))
	p.Cut(s.Context / 2)
	return p
}

// subagentHead returns the system prompt of sub-agents.
func (a *Agents) subagentHead() (p workload.TextParts) {
	p.Add(agentPart(partSubagent), a.lengthOf(a.c.SubagentTokens, partSubagent, 0))
	p.Cut(a.c.Context / 2)
	return p
}

// addTurn adds request i of a task of the session's agent. waits are last requests of sub-agents.
func (p *agentPlan) addTurn(task, i int, waits []int) {
	var added workload.TextParts
	var after []workload.Edge
	last := p.last[0]
	delay := &p.shape.ToolDelay
	if i == 0 {
		delay = &p.shape.ThinkTime
	}
	wait := time.Duration(delay.Draw(p.r)) * time.Millisecond
	if last >= 0 {
		if len(waits) > 0 && i > 0 {
			wait = 0 // the sub-agents are the tool
		}
		after = append(after, workload.Edge{From: last, Delay: wait})
	}
	for _, w := range waits {
		q := &p.requests[w]
		after = append(after, workload.Edge{From: w, Delay: wait})
		added.Add(agentPart(partAnswer, p.session, q.agent, q.turn), q.answer)
	}
	switch {
	case i == 0:
		added.Add(agentPart(partTask, p.session, 0, task), p.shape.TaskTokens.Draw(p.r))
	case len(waits) == 0:
		added.Add(agentPart(partTool, p.session, 0, p.turns(0)), p.shape.ToolTokens.Draw(p.r))
	}
	p.add(0, added, after)
}

// addSubagent adds a sub-agent that begins after a request, and returns its last request.
func (p *agentPlan) addSubagent(head workload.TextParts, turns, after int) int {
	agent := len(p.agents)
	p.agents = append(p.agents, workload.Agent{ID: fmt.Sprintf("%s.%d", agentID(p.session), agent), Kind: workload.Spawned})
	p.heads, p.last = append(p.heads, head), append(p.last, -1)
	edge := workload.Edge{From: after}
	for i := range turns {
		var added workload.TextParts
		if i == 0 {
			added.Add(agentPart(partTask, p.session, agent, 0), p.shape.TaskTokens.Draw(p.r))
		} else {
			edge.Delay = time.Duration(p.shape.ToolDelay.Draw(p.r)) * time.Millisecond
			added.Add(agentPart(partTool, p.session, agent, i), p.shape.ToolTokens.Draw(p.r))
		}
		edge.From = p.add(agent, added, []workload.Edge{edge})
	}
	return edge.From
}

// turns returns the number of requests of an agent so far.
func (p *agentPlan) turns(agent int) int {
	if p.last[agent] < 0 {
		return 0
	}
	return p.requests[p.last[agent]].turn + 1
}

// add adds a request and returns its number. Its prompt and its answer together fit into the context: the system prompt has at most
// half of it, and what is new and the answer a quarter each.
func (p *agentPlan) add(agent int, added workload.TextParts, after []workload.Edge) int {
	context, last, head := p.shape.Context, p.last[agent], p.heads[agent].Total()
	added.Cut(context / 4)
	q := agentRequest{agent: agent, turn: p.turns(agent), before: last, added: added, answer: min(p.shape.AnswerTokens.Draw(p.r), context/4)}
	history, fixed := 0, head+added.Total()
	if last >= 0 {
		history = p.requests[last].prompt - head + p.requests[last].answer
		if happens(p.r, p.shape.Resets) || fixed+history+q.answer > context {
			q.before = -1
			history = min(int(p.shape.ResetKeep*float64(history)), context-fixed-q.answer)
			q.summary = history
			p.resets++
		}
	}
	q.prompt = fixed + history
	p.last[agent] = len(p.requests)
	p.requests = append(p.requests, q)
	p.nodes = append(p.nodes, workload.Node{After: after, Agent: agent, Continues: -1})
	return p.last[agent]
}

// session returns session k.
func (a *Agents) session(k int) *workload.Session {
	s := &agentSession{agentPlan: a.plan(k), c: &a.c, number: a.first(k)}
	if a.c.Live {
		for i, q := range s.requests {
			s.nodes[i].Continues = q.before
		}
	}
	s.kept = make([]keptMessages, len(s.heads))
	made := &workload.Session{ID: agentID(k), Agents: s.agents, Nodes: s.nodes, Recorded: !a.c.Live, Entry: s.entry}
	s.turns = made.Turns()
	return made
}

// An agentSession makes the requests of a session.
type agentSession struct {
	*agentPlan

	c      *AgentsConfig
	number int            // of the first request, among the requests of all sessions
	turns  []int          // of each request, among the requests of its agent
	kept   []keptMessages // of each agent
}

// keptMessages are the messages of the last prompt that was made for an agent, so that its next prompt makes only what is new.
type keptMessages struct {
	request    int
	seed, salt uint64 // of the texts
	json       []byte // an array; nil for none
}

// entry implements workload.Session.Entry.
func (s *agentSession) entry(i int) (workload.Entry, error) {
	q := &s.requests[i]
	e := workload.Entry{Step: s.number + i, Session: agentID(s.session), Turn: s.turns[i], Whole: !s.c.Live}
	messages, err := s.messages(i)
	if err != nil {
		return e, fmt.Errorf("synthetic session %s, request %d: %w", agentID(s.session), i+1, err)
	}
	e.Prompt = &workload.Prompt{Messages: messages, MaxTokens: q.answer, Exact: true}
	return e, nil
}

// messages returns the messages of request i as JSON: in live sessions the new ones, else all.
func (s *agentSession) messages(i int) ([]byte, error) {
	if s.c.Texts == nil {
		return nil, errors.New("no texts")
	}
	if s.c.Live {
		out, err := s.begin(nil, i)
		if err != nil {
			return nil, err
		}
		return closed(out), nil
	}
	kept := &s.kept[s.requests[i].agent]
	if kept.seed != s.c.Texts.seed || kept.salt != s.c.Texts.salt {
		*kept = keptMessages{seed: s.c.Texts.seed, salt: s.c.Texts.salt}
	}
	var out []byte
	line := []int{i}
	for q := s.requests[i].before; q >= 0; q = s.requests[q].before {
		if kept.json != nil && kept.request == q {
			out = slices.Clone(kept.json[:len(kept.json)-1])
			break
		}
		line = append(line, q)
	}
	for _, q := range slices.Backward(line) {
		var err error
		if before := s.requests[q].before; before >= 0 {
			of := &s.requests[before]
			var answer workload.TextParts
			answer.Add(agentPart(partAnswer, s.session, of.agent, of.turn), of.answer)
			if out, err = s.message(out, "assistant", answer); err != nil {
				return nil, err
			}
		}
		if out, err = s.begin(out, q); err != nil {
			return nil, err
		}
	}
	out = closed(out)
	kept.request, kept.json = i, out
	return out, nil
}

// closed ends an array of messages.
func closed(out []byte) []byte {
	out[0] = '['
	return append(out, ']')
}

// begin appends the messages that request i adds to its history: the user's, and before them the system prompt if there is no history.
func (s *agentSession) begin(out []byte, i int) ([]byte, error) {
	q := &s.requests[i]
	text := q.added
	if q.before < 0 {
		if head := s.heads[q.agent]; head.Total() > 0 {
			var err error
			if out, err = s.message(out, "system", head); err != nil {
				return nil, err
			}
		}
		if q.summary > 0 {
			text = workload.TextParts{}
			text.Add(agentPart(partSummary, s.session, q.agent, q.turn), q.summary)
			text.Names, text.Tokens = append(text.Names, q.added.Names...), append(text.Tokens, q.added.Tokens...)
		}
	}
	return s.message(out, "user", text)
}

// message appends a message after a comma.
func (s *agentSession) message(out []byte, role string, parts workload.TextParts) ([]byte, error) {
	text, _, err := s.c.Texts.Parts(parts.Names, parts.Tokens)
	if err != nil {
		return nil, err
	}
	out = append(out, `,{"role":"`+role+`","content":`...)
	if out, err = jsontext.AppendQuote(out, text); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}
