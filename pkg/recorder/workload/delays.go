package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Delays says when requests of sessions are due after the requests that they wait for. The zero value leaves all as the data says.
// The changes are made in the order of the fields.
type Delays struct {
	// IdleCap bounds, in the recording of each session, the time from the start of one request to the start of the next one of the
	// whole session: a longer time shrinks to it, and all that came later moves. 0 is no bound. Requests without a recorded start
	// keep their delays.
	IdleCap time.Duration
	Kind    DelayKind
	Ratio   *float64 // multiplies all delays; nil is 1
	// Cap bounds each delay; 0 is no bound.
	Cap time.Duration
}

// A DelayKind says what the delays of sessions are made of.
type DelayKind uint8

// The kinds of delays. RecordedDelays are the data's. ThinkOnly waits after the last end of what a request waits for as long as the
// recording did after the last end of these. StartToStart keeps the recorded times between starts, but no request is sent
// before what it waits for has ended. NoDelays waits for other requests alone.
const (
	RecordedDelays DelayKind = iota
	ThinkOnly
	StartToStart
	NoDelays
)

var delayKinds = []string{RecordedDelays: "recorded", ThinkOnly: "think-only", StartToStart: "start-to-start", NoDelays: "none"}

// String returns the name of the kind.
func (k DelayKind) String() string { return delayKinds[k] }

// ParseDelayKind returns the kind with a name.
func ParseDelayKind(name string) (DelayKind, error) {
	if i := slices.Index(delayKinds, name); i >= 0 {
		return DelayKind(i), nil //nolint:gosec // one of a few
	}
	return 0, fmt.Errorf("expected recorded, think-only, start-to-start or none, not %q", name)
}

// Of returns the entries of src with other delays. The delays of entries that are no sessions yet are those after their answers.
func (d *Delays) Of(src Source) Source {
	if *d == (Delays{}) {
		return src
	}
	if all, ok := src.(Sessions); ok {
		return MapSessions(all, d.change)
	}
	return Map(src, d.changeEntry)
}

// Changed returns a session whose nodes have other delays. Its entries keep theirs.
func (d *Delays) Changed(s *Session) *Session {
	if *d == (Delays{}) {
		return s
	}
	changed := *s
	d.change(0, &changed)
	return &changed
}

// changeEntry is a change for [Map].
func (d *Delays) changeEntry(_ int, e *Entry) error {
	e.Delay = d.Bound(e.Delay)
	return nil
}

// Bound returns a delay as the last steps change it.
func (d *Delays) Bound(delay time.Duration) time.Duration {
	switch {
	case d.Kind == NoDelays:
		return 0
	case d.Ratio != nil:
		delay = scaled(delay, *d.Ratio)
	}
	if d.Cap > 0 {
		delay = min(delay, d.Cap)
	}
	return delay
}

// change is a change for [MapSessions].
func (d *Delays) change(_ int, s *Session) func(i int, e *Entry) error {
	nodes := slices.Clone(s.Nodes)
	for i := range nodes {
		nodes[i].After = slices.Clone(nodes[i].After)
	}
	if d.IdleCap > 0 {
		capIdle(nodes, d.IdleCap)
	}
	for i := range nodes {
		n := &nodes[i]
		switch d.Kind {
		case ThinkOnly:
			thinkOnly(nodes, n)
		case StartToStart:
			startToStart(nodes, n)
		case RecordedDelays, NoDelays:
		}
		for k := range n.After {
			n.After[k].Delay = d.Bound(n.After[k].Delay)
		}
		n.NotBefore = d.Bound(n.NotBefore)
	}
	s.Nodes = nodes
	return d.changeEntry
}

// end returns when a request ended in the recording; its start if that is all that is known.
func (p Span) end() time.Duration {
	if p.Ended {
		return p.End
	}
	return p.Start
}

// capIdle shrinks the times between recorded starts that are longer than most.
func capIdle(nodes []Node, most time.Duration) {
	var sorted []int
	for i := range nodes {
		if nodes[i].Past.Known {
			sorted = append(sorted, i)
		}
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(nodes[a].Past.Start, nodes[b].Past.Start) })
	earlier := make([]time.Duration, len(nodes)) // how much earlier a request begins
	total, before := time.Duration(0), time.Duration(0)
	for j, i := range sorted {
		start := nodes[i].Past.Start
		if j > 0 {
			total += max(0, start-before-most)
		}
		before, earlier[i] = start, total
	}
	for i := range nodes {
		n := &nodes[i]
		if !n.Past.Known {
			continue
		}
		for k := range n.After {
			e := &n.After[k]
			if nodes[e.From].Past.Known {
				e.Delay = max(0, e.Delay-max(0, earlier[i]-earlier[e.From]))
			}
		}
		n.NotBefore = max(0, n.NotBefore-earlier[i])
	}
	for i := range nodes {
		nodes[i].Past.Start -= earlier[i]
		nodes[i].Past.End = max(0, nodes[i].Past.End-earlier[i])
	}
}

// thinkOnly makes a request wait after the last end of what it waits for as long as in the recording. Without recorded times, the
// delays of the data are such times already.
func thinkOnly(nodes []Node, n *Node) {
	if !n.Past.Known {
		return
	}
	last, ok := time.Duration(0), false
	for _, e := range n.After {
		if e.Anchor == AfterEnd {
			from := nodes[e.From].Past
			if !from.Ended {
				return // how long the recording thought is not known
			}
			last, ok = max(last, from.End), true
		}
	}
	if !ok {
		return
	}
	after := n.After[:0]
	for _, e := range n.After {
		if e.Anchor == AfterEnd { // other edges are the schedule of the recording, and no time of thinking
			e.Delay = max(0, n.Past.Start-last)
			after = append(after, e)
		}
	}
	n.After = after
}

// startToStart makes a request wait for starts as long as in the recording, and for no delay after ends.
func startToStart(nodes []Node, n *Node) {
	if !n.Past.Known {
		return
	}
	for k := range len(n.After) {
		from := nodes[n.After[k].From].Past
		if !from.Known {
			continue
		}
		gap := max(0, n.Past.Start-from.Start)
		if n.After[k].Anchor != AfterEnd {
			n.After[k] = Edge{From: n.After[k].From, Anchor: AfterStart, Delay: gap}
			continue
		}
		n.After[k].Delay = 0
		n.After = append(n.After, Edge{From: n.After[k].From, Anchor: AfterStart, Delay: gap})
	}
}

func scaled(d time.Duration, ratio float64) time.Duration {
	return time.Duration(min(float64(d)*ratio, math.MaxInt64/2)) // two of them can be added
}
