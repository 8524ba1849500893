package drive

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// maxOpenSlots is the ceiling of a level without one of its own: each slot has a
// connection.
const maxOpenSlots = 1 << 16

// openLoop sends each request at the instant that the schedule says, whether or not
// earlier ones have been answered.
//
// One of its slots is the leader: it takes the next request, waits until shortly before
// its instant, makes another slot the leader, and sends at the instant. So no goroutine
// has to be woken between the instant and the write; the next leader has the time until
// its own instant to wake up. Requests are admitted in the order of the schedule, however
// close their instants are. The next leader is the slot that became idle last, so that no
// more connections are in use than needed. Some slots stay idle in reserve, because
// opening one may take long. When no slot is idle and the ceiling is reached, no slot
// leads until one has its response, and due requests wait.
type openLoop struct {
	Stage
	schedule load.Schedule
	ceiling  int

	// These belong to the leader.
	number int  // requests taken from the feed
	behind bool // the ceiling made requests late, and some still are
	last   admissionOrder

	// unsent are requests that were taken from the schedule and not sent. It belongs to
	// the slot that is admitted next.
	unsent []scheduled

	mu      sync.Mutex // guards the fields below
	idle    []*openSlot
	n       int  // open slots
	used    int  // slots that have sent
	opening int  // slots being opened
	leading bool // some slot leads
	full    bool // no slot leads because of the ceiling
	over    bool
	ended   chan struct{} // closed with over
	endNS   uint64        // when that was
	running sync.WaitGroup

	offered load.Offered
}

// An openSlot sends one request at a time.
type openSlot struct {
	worker int
	sender backend.Sender
	feed   slotFeed
	turn   chan struct{} // has a value when the slot becomes the leader; room for one
	near   func()        // makes another slot the leader
	used   bool
}

// A scheduled request is one that the schedule asked for.
type scheduled struct {
	due uint64 // Unix ns
	at  time.Time
}

func newOpenLoop(level load.Open, c Stage) *openLoop {
	o := &openLoop{Stage: c, schedule: load.Every(level.Schedule(), c.Share.Rank, c.Share.Size), ceiling: c.Share.Slots(level.Slots()), ended: make(chan struct{})}
	if o.ceiling == 0 {
		o.ceiling = maxOpenSlots
	}
	if c.Sequences != nil {
		o.ceiling = min(o.ceiling, c.Sequences.cfg.Live)
	}
	return o
}

// reserve returns how many slots should be idle: all of them when each holds a live
// sequence.
func (o *openLoop) reserve() int {
	if o.Sequences != nil {
		return o.ceiling
	}
	return reserve(o.n)
}

// reserve returns how many slots should be idle when n are open.
func reserve(n int) int { return 2 + n/16 }

func (o *openLoop) Run(ctx context.Context) {
	o.mu.Lock()
	o.grow(ctx)
	o.mu.Unlock()
	o.running.Go(func() {
		select {
		case <-o.Admission.Closed():
			o.end()
		case <-o.ended:
		}
	})
	o.running.Wait()
}

// Decoded implements Driver. Failures do not change a schedule.
func (o *openLoop) Decoded(int, bool) {}

// Slots implements Driver.
func (o *openLoop) Slots() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.used, 1)
}

// grow starts opening slots until there is a reserve. The caller holds the lock.
func (o *openLoop) grow(ctx context.Context) {
	for !o.over && len(o.idle)+o.opening < o.reserve() && o.n+o.opening < o.ceiling {
		o.opening++
		worker := o.n + o.opening - 1
		o.running.Go(func() { o.open(ctx, worker) })
	}
}

// open opens a slot and serves with it. It retries until the sender opens or the load
// ends.
func (o *openLoop) open(ctx context.Context, worker int) {
	var sender backend.Sender
	for failures := 1; ; failures++ {
		var err error
		if sender, err = o.Senders.sender(ctx, worker); err == nil {
			break
		}
		if !load.WaitTimer(time.Now().Add(backoffTime(failures+1)), o.ended) {
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
			worker: worker, sender: sender, feed: slotFeed{Stage: &o.Stage},
			turn: make(chan struct{}, 1),
		}
		s.near = func() { o.handOver(ctx, s) }
		o.serve(ctx, s)
	}
}

// serve is the goroutine of a slot.
func (o *openLoop) serve(ctx context.Context, s *openSlot) {
	defer func() { s.feed.close(ctx, s.worker, s.sender) }()
	for o.await(s) {
		e, ok := o.lead(s)
		if !ok {
			o.end()
			return
		}
		x := o.exchange(ctx, s.worker, s.sender, e)
		s.feed.sent(x)
		o.Completed.Put(x)
	}
}

// await waits until s is the leader; false when the load is over.
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

// lead returns the next request at its instant; false when there is none or it may not
// be sent. On the way it makes another slot the leader.
func (o *openLoop) lead(s *openSlot) (dispatch, bool) {
	before, decided := o.last.next()
	defer close(decided)
	next, taken := o.take()
	var e dispatch
	ready := false
	if taken {
		e, ready = o.ready(s, next)
	}
	if before != nil {
		<-before
	}
	if ready {
		if p, ok := o.Admission.admit(next.due, o.Clock.NowNS()); ok {
			if p.phase == export.PhaseMeasured {
				o.offered.Add(next.due)
			}
			if p.last {
				o.end()
			}
			e.ticket, e.step = p, s.feed.step(false)
			return e, true
		}
	}
	if taken {
		o.unsent = append(o.unsent, next)
	}
	return dispatch{}, false
}

// admissionOrder admits requests in the order of the schedule. Each request has its own
// channel, because a slot can lead again before the slot behind its first request has
// seen that request admitted.
type admissionOrder struct{ last chan struct{} }

// next returns a channel that is closed when the previous request has been admitted or
// refused (nil for the first request), and the one that the caller closes when its own
// has been.
func (g *admissionOrder) next() (before <-chan struct{}, decided chan struct{}) {
	decided = make(chan struct{})
	if g.last != nil {
		before = g.last
	}
	g.last = decided
	return before, decided
}

// take returns the next request of the schedule; false when there is none.
func (o *openLoop) take() (scheduled, bool) {
	span, ok := o.schedule.Next()
	if !ok {
		return scheduled{}, false
	}
	at := o.Start.Add(span)
	return scheduled{due: o.Clock.NS(at), at: at}, true
}

// ready prepares a request, makes another slot the leader and waits for the instant;
// false when there is nothing to send or the load is over.
func (o *openLoop) ready(s *openSlot, next scheduled) (dispatch, bool) {
	q, ok := s.feed.prepare(o.number) // while there is time
	if !ok {
		return dispatch{}, false
	}
	o.number++
	e := dispatch{preparedRequest: q, dueNS: next.due}
	if time.Until(next.at) > 0 {
		o.behind = false
		return e, o.Wait(next.at, o.Admission.Closed(), s.near)
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
		if o.Sequences != nil {
			last = 0 // in turn, so that all sequences progress
		}
		o.idle[last].turn <- struct{}{} // it has room: the slot is idle
		o.idle = slices.Delete(o.idle, last, last+1)
	} else {
		o.leading = false
		o.full = o.opening == 0 && o.n >= o.ceiling // a slot being opened may be ready in time
	}
	o.grow(ctx)
}

// end ends the load: idle slots return, the others wait for their responses.
func (o *openLoop) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.endNS = true, min(o.Clock.NowNS(), o.Admission.until())
		close(o.ended)
	}
}

// Offered implements Driver. It includes requests that were due and not sent.
func (o *openLoop) Offered(fromNS uint64) *load.Offered {
	for _, q := range o.unsent {
		o.countUnsent(q, fromNS)
	}
	for q, ok := o.take(); ok && q.due <= o.endNS; q, ok = o.take() {
		o.countUnsent(q, fromNS)
	}
	if o.Share.Whole() { // else the gap may belong to a request of another rank
		o.offered.BeganNS = fromNS
	}
	return &o.offered
}

// countUnsent counts a request that was due and not sent as offered.
func (o *openLoop) countUnsent(q scheduled, fromNS uint64) {
	if fromNS < q.due && q.due <= o.endNS {
		o.offered.Add(q.due)
	}
}
