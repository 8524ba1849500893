package synth

import (
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// AgentFacts are numbers about made-up sessions.
type AgentFacts struct {
	// Graphs is about all sessions, but from the first ones if these alone were looked at. The other facts are of them.
	Graphs             workload.SessionFacts
	Sessions, Requests int
	// These are sums over the requests, in tokens. Possible is the part of the prompts that an unlimited prefix cache could hold if the
	// sessions came one after the other: what a prompt has in common with an earlier one, and in live sessions with its answer.
	Prompt, Answer, Possible int64
	Longest                  int // tokens of a prompt
	Resets                   int
}

// Facts returns the facts of the first sessions: at most so many, and no more once they have so many requests.
func (a *Agents) Facts(sessions, requests int) (f AgentFacts) {
	seen := map[uint64]bool{} // shared parts of system prompts
	for k := 0; k < min(sessions, a.Sessions()) && a.first(k) < requests; k++ {
		p := a.plan(k)
		f.Sessions, f.Requests = k+1, f.Requests+len(p.requests)
		f.Graphs.Add(&workload.Session{Agents: p.agents, Nodes: p.nodes, Recorded: !a.c.Live})
		f.Resets += p.resets
		spawned := false // sub-agents began after the last request of the session's agent
		for i := range p.requests {
			q := &p.requests[i]
			if q.agent == 0 && spawned {
				seen[agentPart(partSubagent)], spawned = true, false
			}
			spawned = spawned || q.agent > 0
			f.Prompt += int64(q.prompt)
			f.Answer += int64(q.answer)
			f.Possible += int64(a.possible(p, q, seen))
			f.Longest = max(f.Longest, q.prompt)
		}
		if spawned {
			seen[agentPart(partSubagent)] = true
		}
		seen[agentPart(partSystem)] = true
		if groups := a.c.Groups; groups > 0 {
			seen[agentPart(partGroup, k%groups)] = true
		}
	}
	f.extend(a.Sessions(), a.Len())
	return f
}

// extend makes the graphs about so many sessions and requests.
func (f *AgentFacts) extend(sessions, requests int) {
	if f.Sessions == sessions {
		return
	}
	g, ratio := &f.Graphs, float64(sessions)/float64(f.Sessions)
	for _, n := range []*int{&g.Recorded, &g.Agents, &g.Spawned, &g.Background, &g.Joins, &g.Delays} {
		*n = int(ratio * float64(*n))
	}
	for _, d := range []*time.Duration{&g.Waiting, &g.Idle} {
		*d = time.Duration(ratio * float64(*d))
	}
	g.Sessions, g.Requests = sessions, requests
}

// possible returns the tokens of a prompt that earlier requests have held. seen are the parts of system prompts that other agents have sent.
func (a *Agents) possible(p *agentPlan, q *agentRequest, seen map[uint64]bool) int {
	switch {
	case q.before >= 0 && a.c.Live:
		return p.requests[q.before].prompt + p.requests[q.before].answer
	case q.before >= 0:
		return p.requests[q.before].prompt
	case q.turn > 0: // a reset
		return p.heads[q.agent].Total()
	}
	n := 0
	for i, name := range p.heads[q.agent].Names {
		if !seen[name] {
			break
		}
		n += p.heads[q.agent].Tokens[i]
	}
	return n
}
