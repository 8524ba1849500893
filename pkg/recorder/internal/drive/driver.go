package drive

import (
	"context"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Driver sends the load of a stage.
type Driver interface {
	// Run sends until the admission is closed, there is nothing more to send or ctx
	// is done. It returns when nothing is in flight.
	Run(ctx context.Context)
	// Decoded reports the outcome of a request whose transfer succeeded. The
	// collector calls it after decoding, because some errors appear only in the
	// decoded bytes.
	Decoded(worker int, ok bool)
	// Slots returns how many slots have sent or will send. It may be called during
	// Run.
	Slots() int
	// Offered returns the measured load that a schedule asked for, nil without a
	// schedule. fromNS is when the measurement began. Call it after Run.
	Offered(fromNS uint64) *load.Offered
	// Warnings returns the warnings about the load, one sentence each. Call it after Run.
	Warnings() []string
	// Err returns why the run cannot go on, or nil. Call it after Run.
	Err() error
}

// A Stage holds the parts that the slots of a stage share.
type Stage struct {
	Admission *Admission
	Set       *RequestSet
	Requests  *Prefetcher // nil for sessions and sequences, which read Set
	Sequences *Sequencer  // nil unless the model keeps state
	Senders   *SenderPool
	Completed *Queue        // takes finished exchanges
	Timeout   time.Duration // of a request; < 0 is none
	FirstID   uint64        // ID of the stage's first request
	Model     string        // requests for it are not marked with their model; "" marks all
	First     int           // conversation that the stage begins with, as a position in the order of the data
	Repeat    bool          // sessions begin again after the last one
	// Most is how many requests of sessions the level has, counted session by session in the order in which these begin; 0 is no
	// bound. The last session ends with it.
	Most int
	// ContinueFailed says that a failed request does not end its session.
	ContinueFailed bool
	// Starts lets the first sessions of load.Sessions begin within their recordings; nil: at their beginning.
	Starts *workload.Starts
	// Refill ends the measurement of load.Sessions when a slot finds no session left.
	Refill bool
	Clock  *rxclock.Clock
	Start  time.Time // may be a little in the future
	// Share is the part of the level that this process sends. Numbers of the stage count
	// the requests of the share: request k of it is request Share.Number(k) of the level.
	Share ranks.Share
	// Arrivals counts the responses as they arrive; nil counts none.
	Arrivals *Arrivals
	// Yielder keeps the next request of a slot behind the connections that have bytes to
	// read; nil: nothing does.
	Yielder *Yielder
	// Wait is load.Wait, replaced in tests.
	Wait func(until time.Time, done <-chan struct{}, near func()) bool
}

// New returns the driver of the stage's share of a level.
func New(level load.Level, s Stage) Driver {
	switch level := level.(type) {
	case load.Concurrency:
		return &closedLoop{Stage: s, level: level, backoff: make([]slotBackoff, s.Share.Slots(level.N))}
	case load.Sessions:
		return newSessionSlots(level, s)
	case load.SessionRequests:
		return newSessionRequests(level, s)
	case load.Periodic:
		return &periodic{Stage: s, level: level, reached: make(chan struct{}, 1)}
	case load.Open:
		if level.Traits().Conversations {
			return newSessionArrivals(level, s)
		}
		return newOpenLoop(level, s)
	}
	panic(fmt.Sprintf("drive: no driver for a %T", level))
}

// Err implements Driver: it returns the error from reading the workload.
func (s *Stage) Err() error {
	switch {
	case s.Sequences != nil:
		return s.Sequences.failure()
	case s.Requests != nil:
		return s.Requests.failure()
	}
	return nil
}

// Warnings implements Driver for drivers without warnings.
func (s *Stage) Warnings() []string { return nil }

// Offered implements Driver for drivers without a schedule.
func (s *Stage) Offered(uint64) *load.Offered { return nil }

// awaitStart waits for the start of the stage; false when no request may be sent any more.
func (s *Stage) awaitStart() bool {
	return time.Until(s.Start) <= 0 || s.Wait(s.Start, s.Admission.Closed(), nil)
}

// A dispatch is a request that is about to be sent.
type dispatch struct {
	ticket
	preparedRequest
	step     backend.SequenceStep
	dueNS    uint64 // when a schedule wanted it sent; 0 without a schedule
	heldBack bool   // it was due earlier and waited because of the level's ceiling
	received func(responses int)
	// place is the place of a conversation's turn among the turns of the level, from 0. It
	// counts instead of the ticket's number if turnPlaced is set.
	place      int
	turnPlaced bool
	// session is the id of the play of a session, and agent the one of its agents that sends the request;
	// "" and nil for a request of no session.
	session string
	agent   *playAgent
}

// numberInLevel returns which request of the level d is, from 0.
func (s *Stage) numberInLevel(d *dispatch) int {
	if d.turnPlaced {
		return d.place
	}
	return s.Share.Number(d.number)
}

// exchange sends a request and returns when it has ended. The caller puts the result
// into the queue.
func (s *Stage) exchange(ctx context.Context, worker int, sender backend.Sender, d dispatch) *backend.Exchange {
	x := &backend.Exchange{Received: d.received, Arrived: s.Arrivals.of(worker), HeldBack: d.heldBack, Sequence: d.step, Request: export.Request{
		ID: s.FirstID + uint64(s.numberInLevel(&d)), Worker: worker, Phase: d.phase, HasMeta: true, Inputs: d.payload.Inputs(),
		SequenceID: d.step.ID, SessionID: d.entry.Session, Turn: d.entry.Turn, ScheduledNS: d.dueNS,
	}}
	if m, ok := d.payload.(backend.Modeler); ok && m.Model() != s.Model {
		x.Request.Model = m.Model()
	}
	if d.agent != nil {
		x.Request.SessionID, x.Request.Agent, x.Request.ParentAgent, x.Request.Depth = d.session, d.agent.id, d.agent.parent, d.agent.depth
		x.Line = &d.agent.line
	}
	x.Pack()
	if s.Timeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Timeout)
		defer cancel()
	}
	sender.Send(ctx, d.payload, x)
	x.Request.FailedNS = s.Clock.NowNS()
	return x
}
