package workload

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Sessions is a Source whose entries are the requests of sessions: conversations, or agents with
// their sub-agents.
type Sessions interface {
	Source
	// Sessions returns the number of sessions, at least one.
	Sessions() int
	// Outline returns what is known of session k without reading it. No two sessions have one id.
	Outline(k int) Outline
	// Open reads session k. Calls of Open and At never overlap.
	Open(k int) (*Session, error)
}

// An Outline is what is known of a session before it is read.
type Outline struct {
	ID       string
	Requests int // at least 1
	// Timed marks a session with an Offset: when it begins in a recorded schedule, since the
	// start of the schedule, not negative.
	Timed  bool
	Offset time.Duration
}

// A Session is the requests of one user or agent, as a graph: each request waits for others.
type Session struct {
	ID string
	// Timed and Offset are as in Outline.
	Timed  bool
	Offset time.Duration
	// Agents are the agents of the session, each after its parent; the first one is the root. Nil means the root alone.
	Agents []Agent
	// Nodes are the requests. An edge leads from an earlier node to a later one.
	Nodes []Node
	// Blocks returns the blocks of the prompt of node i, as the data names them; nil if it names none. It may be called at
	// any time.
	Blocks func(i int) Blocks
	// Entry returns the request of node i. Calls for one session never overlap; calls for different
	// sessions may, also with calls of Sessions.Open.
	Entry func(i int) (Entry, error)
	// Recorded says that each request holds its history itself, so that no answer is needed for another
	// request.
	Recorded bool
}

// Turns returns the position of each node among the requests of its agent.
func (s *Session) Turns() []int {
	turns, next := make([]int, len(s.Nodes)), make([]int, max(1, len(s.Agents)))
	for i, n := range s.Nodes {
		turns[i] = next[n.Agent]
		next[n.Agent]++
	}
	return turns
}

// A Node is a request of a Session.
type Node struct {
	// After are the edges to the node. The request is due when the time of each has come; without edges,
	// when the session begins.
	After []Edge
	// Agent is the agent that sends the request, an index of Session.Agents; 0 is the root.
	Agent int
	// Continues is the node whose messages and answer come before the node's own messages; −1 for none.
	// One of the edges then leads from its end.
	Continues int
	// Quotes are earlier nodes whose answers the request holds: its messages have an AnswerPlace for each. All have ended when the
	// request is due.
	Quotes []int
	// Model is the model of the request in the data, for sessions whose models stand for the load's; "" for none.
	Model string
	// Past is when the request was sent and answered in the recording.
	Past Span
	// NotBefore is how long after the beginning of the session the request is due at the earliest.
	NotBefore time.Duration
}

// AnswerPlace returns what stands in the texts of a request for the text of the answer to a node.
func AnswerPlace(node int) string { return fmt.Sprintf("{{answer of request %d}}", node) }

// A Span is the time of a request in a recording, since the first request of its session.
type Span struct {
	Known bool // Start is known
	Ended bool // End is known, too
	Start time.Duration
	End   time.Duration // not before Start
}

// An Agent is a line of requests within a session: the root, or one that a request of another agent has begun.
type Agent struct {
	ID     string // unique in the session; "" for the root
	Parent int    // an earlier agent; −1 for the root
	Kind   AgentKind
}

// An AgentKind says how an agent came to be.
type AgentKind uint8

// The kinds of agents. A Forked agent begins with the messages and the answer of its parent, a Spawned one without any.
// A parent waits for neither by this alone: an edge from the last request of an agent says who waits for it.
const (
	Root AgentKind = iota
	Forked
	Spawned
)

// Outline returns the outline of s.
func (s *Session) Outline() Outline {
	return Outline{ID: s.ID, Requests: len(s.Nodes), Timed: s.Timed, Offset: s.Offset}
}

// Depth returns how many agents stand above an agent: 0 for the root.
func (s *Session) Depth(agent int) int {
	depth := 0
	for agent > 0 {
		agent = s.Agents[agent].Parent
		depth++
	}
	return depth
}

// An Edge makes a request wait for another one of its session.
type Edge struct {
	From   int // an earlier node
	Anchor Anchor
	Delay  time.Duration // after the anchor, not negative
}

// An Anchor is the moment of a request that an Edge counts from.
type Anchor uint8

// The anchors of an edge. From the end of a request on, the Delay of its entry counts too. A request that ends without a
// response has its first token when it ends.
const (
	AfterEnd Anchor = iota
	AfterStart
	AfterFirstToken
)

// Linear returns the entries of src as sessions, in the order in which these begin. Entries with one Session are
// its turns: each is sent after the answer to the one before it and that one's Delay. The Offset of the first is the session's. check is called for each
// entry. The error is from reading an entry, from check, or for an entry without a session.
func Linear(src Source, check func(*Entry) error) (Sessions, error) {
	s := &linear{Source: src}
	number := map[string]int{} // index of a session in all
	for k := range src.Len() {
		e, err := src.At(k)
		if err != nil {
			return nil, err
		}
		if e.Session == "" {
			return nil, fmt.Errorf("%s: %w", e.Place(), errNoSession)
		}
		if err := check(&e); err != nil {
			return nil, err
		}
		i, ok := number[e.Session]
		if !ok {
			i = len(s.all)
			number[e.Session] = i
			s.all = append(s.all, turns{id: e.Session, timed: e.Timed, offset: e.Offset})
		}
		s.all[i].entries = append(s.all[i].entries, k)
		if n := len(s.chain); n < len(s.all[i].entries) {
			s.chain = append(s.chain, chained(n))
		}
	}
	return s, nil
}

// chained returns node i of a session in which each request continues the one before it.
func chained(i int) Node {
	if i == 0 {
		return Node{Continues: -1}
	}
	return Node{After: []Edge{{From: i - 1}}, Continues: i - 1}
}

var errNoSession = errors.New(`no "session_id"; sessions need one in every entry (--concurrency-range and --request-rate-range send entries without sessions)`)

// linear is the Sessions that Linear returns.
type linear struct {
	Source
	all   []turns
	chain []Node // of the longest session, with which all others begin

	mu sync.Mutex // makes calls of At not overlap
}

// turns are the entries of one session, as their numbers.
type turns struct {
	id      string
	timed   bool
	offset  time.Duration
	entries []int
}

// At implements Source.
func (s *linear) At(k int) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Source.At(k)
}

// Sessions implements Sessions.
func (s *linear) Sessions() int { return len(s.all) }

// Outline implements Sessions.
func (s *linear) Outline(k int) Outline {
	t := &s.all[k]
	return Outline{ID: t.id, Requests: len(t.entries), Timed: t.timed, Offset: t.offset}
}

// Open implements Sessions; there is no error.
func (s *linear) Open(k int) (*Session, error) {
	t := s.all[k]
	return &Session{ID: t.id, Timed: t.timed, Offset: t.offset, Nodes: s.chain[:len(t.entries)], Entry: func(i int) (Entry, error) { return s.At(t.entries[i]) }}, nil
}
