package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
)

// A SessionFacts holds numbers about sessions. The zero value is of none.
type SessionFacts struct {
	Sessions int `json:"sessions"`
	Requests int `json:"requests"`
	Most     int `json:"most_requests"` // of a session
	Timed    int `json:"timed"`         // sessions with a time in a schedule
	Recorded int `json:"recorded"`      // sessions whose requests hold their histories themselves
	Starts   int `json:"starts"`        // requests with a recorded start

	// Agents are those beside the roots. No request waits for an agent in the background.
	Agents     int `json:"agents"`
	Forked     int `json:"forked"`
	Spawned    int `json:"spawned"`
	Background int `json:"background"`
	Depth      int `json:"depth"` // of the deepest agent

	Joins  int `json:"joins"`  // requests that wait for several others, or for one of an agent below theirs
	Delays int `json:"delays"` // requests that a delay after others holds back
	// Waiting is the sum of these delays. Idle is the part of it that each session takes at least, one after the other: its delays
	// on the way to its last request.
	Waiting time.Duration `json:"waiting_ns"`
	Idle    time.Duration `json:"idle_ns"`
	// Models are the models of the recording, in the order of their first requests, at most mostModels.
	Models []string `json:"models,omitempty"`
}

// mostModels bounds the models that are told apart in SessionFacts.
const mostModels = 100

// FactsOf returns the facts of all sessions. The error is from opening one.
func FactsOf(all Sessions) (x SessionFacts, err error) {
	for k := range all.Sessions() {
		s, err := all.Open(k)
		if err != nil {
			return x, err
		}
		x.Add(s)
	}
	return x, nil
}

// Add adds a session.
func (x *SessionFacts) Add(s *Session) {
	x.Sessions++
	x.Requests += len(s.Nodes)
	x.Most = max(x.Most, len(s.Nodes))
	if s.Timed {
		x.Timed++
	}
	if s.Recorded {
		x.Recorded++
	}
	awaited, idle, longest := make([]bool, len(s.Agents)), make([]time.Duration, len(s.Nodes)), time.Duration(0)
	for i, n := range s.Nodes {
		if n.Past.Known {
			x.Starts++
		}
		join, delay := false, time.Duration(0)
		for _, e := range n.After {
			from := s.Nodes[e.From].Agent
			if e.Anchor == AfterEnd && from != n.Agent && s.below(from, n.Agent) {
				awaited[from], join = true, true
			}
			join = join || e.From != n.After[0].From
			delay = max(delay, e.Delay)
			idle[i] = max(idle[i], together(idle[e.From], e.Delay))
		}
		longest = max(longest, idle[i])
		if join {
			x.Joins++
		}
		if delay > 0 {
			x.Delays++
			x.Waiting = together(x.Waiting, delay)
		}
		if n.Model != "" && len(x.Models) < mostModels && !slices.Contains(x.Models, n.Model) {
			x.Models = append(x.Models, n.Model)
		}
	}
	x.Idle = together(x.Idle, longest)
	for i, a := range s.Agents {
		if i == 0 {
			continue
		}
		x.Agents++
		x.Depth = max(x.Depth, s.Depth(i))
		if a.Kind == Forked {
			x.Forked++
		} else {
			x.Spawned++
		}
		if !awaited[i] {
			x.Background++
		}
	}
}

// together returns a + b, or the longest time if that is less.
func together(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// below reports whether an agent came to be by another one, or by one below that.
func (s *Session) below(agent, other int) bool {
	for agent > other {
		if agent = s.Agents[agent].Parent; agent == other {
			return true
		}
	}
	return false
}

// String describes the sessions in a sentence without an end.
func (x *SessionFacts) String() string {
	if x.Sessions == 0 {
		return "no sessions"
	}
	parts := []string{plural.GroupedOf(x.Sessions, "session") + " of " + plural.GroupedOf(x.Most, "request")}
	if x.Requests != x.Sessions*x.Most {
		parts[0] = fmt.Sprintf("%s of %.3g requests on average and %s at most", plural.GroupedOf(x.Sessions, "session"), float64(x.Requests)/float64(x.Sessions), plural.Grouped(x.Most))
	}
	if x.Agents > 0 {
		parts = append(parts, fmt.Sprintf("%s (%s forked, %s spawned, %s in the background)",
			plural.GroupedOf(x.Agents, "sub-agent"), plural.Grouped(x.Forked), plural.Grouped(x.Spawned), plural.Grouped(x.Background)))
	}
	if x.Joins > 0 {
		verb := "wait"
		if x.Joins == 1 {
			verb = "waits"
		}
		parts = append(parts, fmt.Sprintf("%s that %s for sub-agents or for several others", plural.GroupedOf(x.Joins, "request"), verb))
	}
	if x.Delays > 0 {
		parts = append(parts, fmt.Sprintf("delays of %s in all before %s", plural.Time(x.Waiting.Round(time.Millisecond)), plural.GroupedOf(x.Delays, "request")))
	}
	if x.Timed > 0 {
		parts = append(parts, fmt.Sprintf("%s with a start time", plural.Grouped(x.Timed)))
	}
	history := "history with live answers"
	switch {
	case x.Recorded == x.Sessions:
		history = "recorded history"
	case x.Recorded > 0:
		history = fmt.Sprintf("recorded history in %s, else live answers", plural.Grouped(x.Recorded))
	}
	return strings.Join(append(parts, history), ", ")
}
