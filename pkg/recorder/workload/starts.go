package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Starts says where within their recordings the first sessions of a load begin, as if it had run for long.
type Starts struct {
	// Min and Max bound the part of the recorded time of a session after which it begins, from 0 to 1. Each part between them is
	// as likely.
	Min, Max float64
	Seed     uint64
	// Pressure is how long the sessions then go on without delays and with answers of one token, to fill the cache of the
	// server, before they are measured.
	Pressure time.Duration
}

// ParseStarts reads the bounds of Starts, such as 0.25:0.75.
func ParseStarts(text string) (*Starts, error) {
	var s Starts
	low, high, ok := strings.Cut(text, ":")
	var err, err2 error
	s.Min, err = strconv.ParseFloat(low, 64)
	s.Max, err2 = strconv.ParseFloat(high, 64)
	if !ok || err != nil || err2 != nil || s.Validate() != nil {
		return nil, fmt.Errorf("expected MIN:MAX, two parts of the recorded time from 0 to 1, such as 0.25:0.75, not %q", text)
	}
	return &s, nil
}

// Validate reports a mistake of s.
func (s *Starts) Validate() error {
	switch {
	case !(s.Min >= 0 && s.Min <= s.Max && s.Max <= 1):
		return fmt.Errorf("sessions start within %v to %v of their recordings: expected two parts from 0 to 1, the smaller one first", s.Min, s.Max)
	case s.Pressure < 0:
		return fmt.Errorf("a cache pressure of %v: must not be negative", s.Pressure)
	}
	return nil
}

// Check reports why a session cannot begin within its recording.
func (s *Starts) Check(session *Session) error {
	if !session.Recorded {
		return fmt.Errorf("session %q: it cannot begin within its recording: its requests need the answers to those before, since they do not hold their history", session.ID)
	}
	for i := range session.Nodes {
		if !session.Nodes[i].Past.Known {
			return fmt.Errorf("session %q, request %d: it has no recorded start, without which the session cannot begin within its recording", session.ID, i+1)
		}
	}
	return nil
}

// At returns after how much of its recording the first session of a slot begins.
func (s *Starts) At(slot int, session *Session) time.Duration {
	h := sha256.Sum256(fmt.Appendf(nil, "start %d %d %s", s.Seed, slot, session.ID))
	part := s.Min + (s.Max-s.Min)*float64(binary.BigEndian.Uint64(h[:])>>11)/(1<<53)
	return time.Duration(part * float64(session.recorded()))
}

// recorded returns how long the recording of s is.
func (s *Session) recorded() (d time.Duration) {
	for i := range s.Nodes {
		d = max(d, s.Nodes[i].Past.end())
	}
	return d
}

// A Part is some of the requests of a session, as a session.
type Part struct {
	*Session
	Of []int // the node of the whole session that each node is
}

// StartAt divides a session whose requests have recorded starts and hold their history at an instant of its recording. rest is what began then or
// later, with what was left of the delays after earlier requests. prime is, of each agent that was not done then, the last
// request before the instant; if the root was done, its last one. These wait for nothing. Each may have no nodes.
func (s *Session) StartAt(at time.Duration) (prime, rest *Part) {
	last := make([]int, max(len(s.Agents), 1)) // of each agent before the instant, as number + 1
	alive := make([]bool, len(last))
	alive[0] = true
	var later []int
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Past.Start >= at {
			later, alive[n.Agent] = append(later, i), true
			continue
		}
		if k := last[n.Agent]; k == 0 || s.Nodes[k-1].Past.Start <= n.Past.Start {
			last[n.Agent] = i + 1
		}
		alive[n.Agent] = alive[n.Agent] || n.Past.end() > at
	}
	var before []int
	for agent, k := range last {
		if k > 0 && alive[agent] {
			before = append(before, k-1)
		}
	}
	prime = s.Part(before, func(Edge) time.Duration { return 0 })
	for i := range prime.Nodes {
		prime.Nodes[i].After, prime.Nodes[i].NotBefore = nil, 0
	}
	rest = s.Part(later, func(e Edge) time.Duration {
		anchor := s.Nodes[e.From].Past.Start
		if e.Anchor == AfterEnd {
			anchor = s.Nodes[e.From].Past.end()
		}
		return max(0, e.Delay-max(0, at-anchor)) + max(0, anchor-at)
	})
	for j, i := range rest.Of {
		if len(s.Nodes[i].After) == 0 {
			rest.Nodes[j].NotBefore = max(0, s.Nodes[i].NotBefore-at)
		}
	}
	return prime, rest
}

// Part returns some of the nodes of s, in their order. left returns what remains of the delay of an edge from another node, which
// counts from the beginning of the part.
func (s *Session) Part(of []int, left func(e Edge) time.Duration) *Part {
	number := make([]int, len(s.Nodes)) // in the part, + 1
	for j, i := range of {
		number[i] = j + 1
	}
	part := *s
	part.Nodes = make([]Node, len(of))
	for j, i := range of {
		n := s.Nodes[i]
		n.After = nil
		for _, e := range s.Nodes[i].After {
			if k := number[e.From]; k > 0 {
				n.After = append(n.After, Edge{From: k - 1, Anchor: e.Anchor, Delay: e.Delay})
			} else {
				n.NotBefore = max(n.NotBefore, left(e))
			}
		}
		if n.Continues >= 0 {
			n.Continues = number[n.Continues] - 1
		}
		part.Nodes[j] = n
	}
	part.Entry = func(j int) (Entry, error) { return s.Entry(of[j]) }
	if s.Blocks != nil {
		part.Blocks = func(j int) Blocks { return s.Blocks(of[j]) }
	}
	return &Part{&part, of}
}

// Hurried returns the session without delays and with answers of one token.
func (s *Session) Hurried() *Session {
	hurried := *s
	d := Delays{Kind: NoDelays}
	d.change(0, &hurried)
	hurried.Entry = func(i int) (Entry, error) {
		e, err := s.Entry(i)
		if err != nil {
			return e, err
		}
		e.Delay = 0
		if e.Prompt == nil || e.Prompt.Body != nil {
			return e, fmt.Errorf("%s: its answer cannot be bounded to one token: it %w", e.Place(), errWholeRequest)
		}
		p := *e.Prompt
		p.MaxTokens = 1
		e.Prompt = &p
		return e, nil
	}
	return &hurried
}
