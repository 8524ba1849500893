package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A driver sends the load of a stage.
type driver interface {
	// run sends until the gate is closed, there is nothing more to send or ctx is
	// done, and returns when nothing is in flight.
	run(ctx context.Context)
	// decoded is told by the collector how a request ended that had come through:
	// there are errors that only the decoded bytes show.
	decoded(worker int, ok bool)
	// slots returns how many slots have sent or are to send. It may be called
	// while run runs.
	slots() int
	// warnings and failure are for when run has returned: what is to be said of the
	// level, and why the run cannot go on.
	warnings() []string
	failure() error
}

// A crew is what the slots of a stage share.
type crew struct {
	gate   *gate
	supply *supply
	// sequences is set instead of supply where the model keeps state.
	sequences *sequencer
	fleet     *fleet
	timeout   time.Duration // of a request; < 0 is none
	firstID   uint64        // of the stage
	model     string        // of requests that are not marked; "": each is
	clock     *rxclock.Clock
	out       *mailbox
	start     time.Time
	// wait is load.Wait.
	wait func(until time.Time, done <-chan struct{}, near func()) bool
}

// failure is that of the workload.
func (c *crew) failure() error {
	switch {
	case c.sequences != nil:
		return c.sequences.failure()
	case c.supply != nil:
		return c.supply.failure()
	}
	return nil
}

// warnings implements driver for those that have none.
func (c *crew) warnings() []string { return nil }

// newDriver returns the driver of a level.
func (l *levelRun) newDriver(level load.Level, c crew) driver {
	switch level := level.(type) {
	case load.Concurrency:
		return newClosedLoop(level, c)
	case load.Sessions:
		return newConversations(level, c, l.stock, l.cfg.Measure.Duration > 0)
	case load.Periodic:
		return newPeriodic(level, c)
	case load.Open:
		return newOpenLoop(level, c)
	}
	panic(fmt.Sprintf("recorder: no driver for a %T", level)) // Validate knows them
}

// An errand is a request that is to be sent now.
type errand struct {
	pass
	parcel
	step     backend.SequenceStep
	dueNS    uint64 // when a schedule wanted it sent; 0: none did
	heldBack bool   // a ceiling made it wait since
	received func(responses int)
}

// A modeled is a payload that knows the model that it asks; "" is not known.
type modeled interface{ Model() string }

// exchange sends a request and returns when it has ended. What came back is to be
// put into the mailbox.
func (c *crew) exchange(ctx context.Context, worker int, sender backend.Sender, e errand) *backend.Exchange {
	x := &backend.Exchange{Received: e.received, HeldBack: e.heldBack, Sequence: e.step, Request: export.Request{
		ID: c.firstID + uint64(e.number), Worker: worker, Phase: e.phase, HasMeta: true, Inputs: e.payload.Inputs(),
		SequenceID: e.step.ID, SessionID: e.entry.Session, Turn: e.entry.Turn, ScheduledNS: e.dueNS,
	}}
	if m, ok := e.payload.(modeled); ok && m.Model() != c.model {
		x.Request.Model = m.Model()
	}
	if c.timeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	sender.Send(ctx, e.payload, x)
	x.Request.EndedNS = c.clock.NowNS()
	return x
}

// soleModel is the model of a run that has one, "" of one with several.
func (r *session) soleModel() string {
	if len(r.cfg.Run.Meta.Models) > 0 {
		return ""
	}
	return r.cfg.Backend.Model()
}
