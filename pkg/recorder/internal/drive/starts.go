package drive

import (
	"context"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// beginWithin begins the first session of each slot within its recording: it sends the last request before of each agent, so that
// the server has their prompts in its cache, and lets the load go on for a while if that is asked for. Then it begins the
// measurement, and returns when. begun gets what is left of the sessions.
func (d *sessionSlots) beginWithin(ctx, sending context.Context, begun []nextSession) uint64 {
	d.each(func(i int) { begun[i] = d.prime(ctx, sending, i) })
	if d.Starts.Pressure > 0 {
		until := time.Now().Add(d.Starts.Pressure)
		d.each(func(i int) { begun[i] = d.press(ctx, sending, until, i, begun[i]) })
	}
	startNS := d.Clock.NowNS()
	d.Admission.release(startNS)
	return startNS
}

// prime sends the requests before the first session of a slot, and returns what is left of the session.
func (d *sessionSlots) prime(ctx, sending context.Context, i int) (begun nextSession) {
	slot := d.Share.Number(i)
	s, ok := d.next(slot)
	if !ok {
		return begun
	}
	if err := d.Starts.Check(s.Session); err != nil {
		d.failed(err)
		return begun
	}
	before, rest := s.StartAt(d.Starts.At(slot, s.Session))
	p, ok := d.warm(ctx, sending, i, s.part(before))
	if !ok {
		return begun
	}
	for k := range p.nodes {
		if !p.nodes[k].failed || sending.Err() != nil {
			continue
		}
		d.count(&export.SessionCounts{Unprimed: 1})
		if p.Nodes[k].Agent == 0 {
			d.failed(fmt.Errorf("session %q: its request before the measurement failed: %s; the session cannot begin within its recording", s.ID, p.why))
		}
	}
	if p.broken != notEnded {
		return begun
	}
	return s.part(rest)
}

// press lets a slot go on without delays and with answers of one token until an instant, and returns what is left of its last session.
func (d *sessionSlots) press(ctx, sending context.Context, until time.Time, i int, begun nextSession) nextSession {
	pressing, stop := context.WithDeadline(sending, until)
	defer stop()
	for pressing.Err() == nil {
		if begun.Session == nil {
			var ok bool
			if begun, ok = d.next(d.Share.Number(i)); !ok {
				return begun
			}
		}
		hurried := begun
		hurried.Session = begun.Hurried()
		p, ok := d.warm(ctx, pressing, i, hurried)
		if !ok {
			return nextSession{}
		}
		var left []int
		for k := range p.nodes {
			if !p.nodes[k].begun {
				left = append(left, k)
			}
		}
		if p.broken == endedByOverflow || len(left) == 0 {
			begun = nextSession{}
			continue
		}
		begun = begun.part(begun.Part(left, func(e workload.Edge) time.Duration { return e.Delay }))
	}
	return begun
}

// warm plays a session before the measurement.
func (d *sessionSlots) warm(ctx, sending context.Context, i int, s nextSession) (p *play, ok bool) {
	sender, err := d.Senders.sender(ctx, i)
	if err != nil {
		return nil, false
	}
	if s.Session == nil {
		return &play{}, true
	}
	p = newPlay(sending, &d.sessions, s)
	p.warming = true
	p.run(ctx, worker{i, sender})
	return p, d.backoff[i].sleep(ctx)
}

// part returns some requests of s; none if there are no such ones.
func (s *nextSession) part(of *workload.Part) (part nextSession) {
	if len(of.Nodes) == 0 {
		return part
	}
	part = *s
	part.Session, part.of = of.Session, of.Of
	if s.of != nil {
		part.of = make([]int, len(of.Of))
		for k, i := range of.Of {
			part.of[k] = s.of[i]
		}
	}
	return part
}

// whyFailed says why a request failed.
func whyFailed(r *export.Request) string {
	if r.Message != "" {
		return r.Message
	}
	return r.Status.String()
}
