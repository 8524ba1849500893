package recorder

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// maxOpenSlots is the ceiling of a level that has none: each slot has a
// connection, and machines have an end.
const maxOpenSlots = 1 << 16

// An openLoop sends what its schedule says, when it says so, whatever has become
// of what was sent before.
//
// One of its slots is the leader: it takes the next request, waits until shortly
// before its instant, makes another slot the leader, and sends at the instant. So no
// goroutine has to be woken between the instant and the write; whoever leads next
// has the time until its own instant to wake up. It passes the gate after its
// predecessor, however close their instants are. The leader comes from the idle slots, the one that
// became idle last first, so that no more connections are in use than are needed.
// Some slots are kept idle in reserve, ready to send: opening one may take its
// time. When there is neither an idle slot nor may there be another one, nobody
// leads until a slot has got its answer, and what is due waits.
type openLoop struct {
	crew
	schedule load.Schedule
	ceiling  int

	// Of the leader.
	number int  // of the requests taken from the supply
	behind bool // the ceiling made requests late, and some still are
	last   gateOrder

	// Of who passes the gate, one after the other.
	unsent []scheduled // what was taken and could not be sent

	mu      sync.Mutex // guards what follows
	idle    []*openSlot
	n       int  // slots that are open,
	used    int  // and have sent
	opening int  // slots that are being opened
	leading bool // some slot leads
	full    bool // nobody leads because of the ceiling
	over    bool
	ended   chan struct{} // closed with over
	endNS   uint64        // when that was
	running sync.WaitGroup

	offer offer
}

// An openSlot is one of the slots; it sends one request at a time.
type openSlot struct {
	worker int
	sender backend.Sender
	line   line
	turn   chan struct{} // has a value when it is to lead; room for one
	near   func()        // makes another slot the leader
	used   bool
}

// A scheduled is a request of the schedule.
type scheduled struct {
	due uint64 // Unix ns
	at  time.Time
}

// An offer is what a schedule asked for: so many requests to measure from the
// first's instant to the last's.
type offer struct {
	requests        int
	fromNS, untilNS uint64
}

func (o *offer) add(dueNS uint64) {
	if o.requests == 0 {
		o.fromNS = dueNS
	}
	o.requests++
	o.untilNS = dueNS
}

func newOpenLoop(level load.Open, c crew) *openLoop {
	o := &openLoop{crew: c, schedule: level.Schedule(), ceiling: level.Slots(), ended: make(chan struct{})}
	if o.ceiling == 0 {
		o.ceiling = maxOpenSlots
	}
	if c.sequences != nil {
		o.ceiling = min(o.ceiling, c.sequences.cfg.Live)
	}
	return o
}

// reserve is how many slots should be idle. All sequences are to be live.
func (o *openLoop) reserve() int {
	if o.sequences != nil {
		return o.ceiling
	}
	return reserve(o.n)
}

// reserve is how many slots should be idle when n are open.
func reserve(n int) int { return 2 + n/16 }

func (o *openLoop) run(ctx context.Context) {
	o.mu.Lock()
	o.grow(ctx)
	o.mu.Unlock()
	o.running.Go(func() {
		select {
		case <-o.gate.closed:
			o.end()
		case <-o.ended:
		}
	})
	o.running.Wait()
}

// decoded implements driver. A schedule is kept, failures or not.
func (o *openLoop) decoded(int, bool) {}

// slots implements driver.
func (o *openLoop) slots() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.used, 1)
}

// grow opens slots until there is a reserve. It is called with the lock held, and
// does not wait.
func (o *openLoop) grow(ctx context.Context) {
	for !o.over && len(o.idle)+o.opening < o.reserve() && o.n+o.opening < o.ceiling {
		o.opening++
		worker := o.n + o.opening - 1
		o.running.Go(func() { o.open(ctx, worker) })
	}
}

// open opens a slot and serves with it. A sender that cannot be opened is tried
// for again and again: that it is the last one, and so a request, is for those who
// have one to find out.
func (o *openLoop) open(ctx context.Context, worker int) {
	var sender backend.Sender
	for failures := 1; ; failures++ {
		var err error
		if sender, err = o.fleet.sender(ctx, worker); err == nil {
			break
		}
		if !load.WaitTimer(time.Now().Add(backoff(failures+1)), o.ended) {
			break
		}
	}
	o.mu.Lock()
	o.opening--
	if sender != nil {
		o.n++
	}
	o.mu.Unlock()
	if sender != nil {
		s := &openSlot{
			worker: worker, sender: sender, line: line{crew: &o.crew},
			turn: make(chan struct{}, 1),
		}
		s.near = func() { o.handOver(ctx, s) }
		o.serve(ctx, s)
	}
}

// serve is a slot's goroutine.
func (o *openLoop) serve(ctx context.Context, s *openSlot) {
	defer func() { s.line.close(ctx, s.worker, s.sender) }()
	for o.await(s) {
		e, ok := o.lead(s)
		if !ok {
			o.end()
			return
		}
		x := o.exchange(ctx, s.worker, s.sender, e)
		s.line.sent(x)
		o.out.put(x)
	}
}

// await returns when s is the leader; false when the load is over.
func (o *openLoop) await(s *openSlot) bool {
	o.mu.Lock()
	switch {
	case o.over:
		o.mu.Unlock()
		return false
	case !o.leading:
		o.leading = true
		if o.full {
			o.full, o.behind = false, true
		}
		o.mu.Unlock()
		return true
	}
	o.idle = append(o.idle, s)
	o.mu.Unlock()
	select {
	case <-s.turn:
		return true
	case <-o.ended:
		return false
	}
}

// lead waits for the next request's instant; false when there is none, or it may
// not be sent. s leads, until it makes another slot the leader on the way.
func (o *openLoop) lead(s *openSlot) (errand, bool) {
	before, passed := o.last.next()
	defer close(passed)
	next, taken := o.take()
	var e errand
	ready := false
	if taken {
		e, ready = o.ready(s, next)
	}
	if before != nil {
		<-before
	}
	if ready {
		if p, ok := o.gate.next(next.due, o.clock.NowNS()); ok {
			if p.phase == export.PhaseMeasured {
				o.offer.add(next.due)
			}
			if p.last {
				o.end()
			}
			e.pass, e.step = p, s.line.step(false)
			return e, true
		}
	}
	if taken {
		o.unsent = append(o.unsent, next)
	}
	return errand{}, false
}

// A gateOrder lets requests pass the gate in the order of the schedule. Each request
// has a channel of its own: a slot can lead again before the slot after its first
// request has looked whether that one has passed.
type gateOrder struct{ last chan struct{} }

// next returns what is closed when the request before has passed the gate or will
// not, nil for the first request, and what the caller closes when its own has.
func (g *gateOrder) next() (before <-chan struct{}, passed chan struct{}) {
	passed = make(chan struct{})
	if g.last != nil {
		before = g.last
	}
	g.last = passed
	return before, passed
}

// take returns the next request of the schedule; false when there is none.
func (o *openLoop) take() (scheduled, bool) {
	span, ok := o.schedule.Next()
	if !ok {
		return scheduled{}, false
	}
	at := o.start.Add(span)
	return scheduled{due: o.clock.NS(at), at: at}, true
}

// ready prepares a request, makes another slot than s the leader and waits for the
// instant; false when there is nothing to send or the load is over.
func (o *openLoop) ready(s *openSlot, next scheduled) (errand, bool) {
	q, ok := s.line.prepare(o.number) // while there is time
	if !ok {
		return errand{}, false
	}
	o.number++
	e := errand{parcel: q, dueNS: next.due}
	if time.Until(next.at) > 0 {
		o.behind = false
		return e, o.wait(next.at, o.gate.closed, s.near)
	}
	e.heldBack = o.behind
	s.near()
	return e, true
}

// handOver makes an idle slot the leader instead of s, if there is one.
func (o *openLoop) handOver(ctx context.Context, s *openSlot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !s.used {
		s.used = true
		o.used++
	}
	if o.over {
		return
	}
	if last := len(o.idle) - 1; last >= 0 {
		if o.sequences != nil {
			last = 0 // in turn, so that all sequences go on
		}
		o.idle[last].turn <- struct{}{} // it has room: the slot is idle
		o.idle = slices.Delete(o.idle, last, last+1)
	} else {
		o.leading = false
		o.full = o.opening == 0 && o.n >= o.ceiling // one that is being opened may be had in time
	}
	o.grow(ctx)
}

// end ends the load: who is idle goes, who has sent something waits for the
// answer.
func (o *openLoop) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.endNS = true, min(o.clock.NowNS(), o.gate.until())
		close(o.ended)
	}
}

// offered returns what the schedule asked for. fromNS is when the measurement
// began. It is to be called when run has returned.
func (o *openLoop) offered(fromNS uint64) *offer {
	// What was due and could not be sent was asked for all the same.
	for _, q := range o.unsent {
		o.ask(q, fromNS)
	}
	for q, ok := o.take(); ok && q.due <= o.endNS; q, ok = o.take() {
		o.ask(q, fromNS)
	}
	return &o.offer
}

// ask adds what was not sent.
func (o *openLoop) ask(q scheduled, fromNS uint64) {
	if fromNS < q.due && q.due <= o.endNS {
		o.offer.add(q.due)
	}
}
