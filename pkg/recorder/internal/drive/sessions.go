package drive

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// FindSessions prepares the set for levels of sessions. The backend must be Conversational. Entries that are
// not sessions yet become linear ones (see workload.Linear), and each is encoded once, without the turns before, to
// find mistakes. The error is from reading or encoding an entry, or from ctx.
func (s *RequestSet) FindSessions(ctx context.Context) (err error) {
	if given, ok := s.Entries.(workload.Sessions); ok {
		s.sessions = given
		return nil
	}
	b := s.Backend.(backend.Conversational)
	s.sessions, err = workload.Linear(s.Entries, func(e *workload.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := b.NewConversation().Turn(e)
		return err
	})
	return err
}

// TakeSessions replaces FindSessions: the sessions have the same outlines as the sessions of another set.
func (s *RequestSet) TakeSessions(from *RequestSet) { s.sessions, s.plays = from.sessions, from.plays }

// Sessions returns the number of sessions; 0 before FindSessions.
func (s *RequestSet) Sessions() int {
	if s.sessions == nil {
		return 0
	}
	return s.sessions.Sessions()
}

// sessionAt returns which session has a position in the order of the data.
func (s *RequestSet) sessionAt(position int) int {
	return s.Order.Index(position, s.sessions.Sessions())
}

// SessionsIn returns how many sessions, from position first of the order on, hold a number of requests. The last
// session counts even if it has more.
func (s *RequestSet) SessionsIn(first, requests int) int {
	n := 0
	for ; requests > 0; n++ {
		requests -= s.sessions.Outline(s.sessionAt(first + n)).Requests
	}
	return n
}

// Turns returns how many of the first n requests of the level belong to a share, if the level begins with the session at
// position first of the order. The requests count session by session, in the order in which these begin, and in further
// rounds of the data. FindSessions must have been called.
func (s *RequestSet) Turns(share ranks.Share, first, n int) int {
	owned := 0
	for passed := 0; passed < n; first++ {
		o := s.sessions.Outline(s.sessionAt(first))
		if share.OwnsSession(o.ID) {
			owned += min(o.Requests, n-passed)
		}
		passed += o.Requests
	}
	return owned
}

// sessions is what the drivers of sessions have in common.
type sessions struct {
	Stage

	// backoff holds the workers of a closed loop, by number; none in an open loop.
	backoff []slotBackoff
	// kept says that requests that follow each other keep their worker; else each takes one when it is due.
	kept bool
	// queued says that requests wait for a worker because of the level; else because a worker is being opened.
	queued bool
	// aheadBytes is the memory of the requests that are prepared ahead.
	aheadBytes atomic.Int64

	instants instants // at which requests of the sessions are due

	opening sync.Mutex // held while the next session is found and opened; guards the fields below
	begun   int        // sessions of the level that were opened; sessions of other shares are passed over
	turns   int        // requests of the sessions that were opened or passed over
	latest  int        // number of sessions up to the last one that has sent a request

	mu      sync.Mutex // guards the fields below
	workers *workers   // nil before Run
	counts  export.SessionCounts
	// contentless counts the answers without content that were followed by a turn.
	contentless int
	err         error // from reading or encoding an entry
}

// begin prepares for playing sessions with workers from number first on, at most limit of them. sending is done when no request may be sent
// any more. end ends that, and waits for what begin has started.
func (d *sessions) begin(ctx context.Context, first, limit int) (sending context.Context, end func()) {
	sending, stop := context.WithCancel(ctx)
	w := newWorkers(sending, d.Senders, first, limit)
	d.mu.Lock()
	d.workers = w
	d.mu.Unlock()
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-d.Admission.Closed():
			stop()
		case <-sending.Done():
		}
	})
	return sending, func() {
		stop()
		watching.Wait()
		w.wait()
	}
}

// A nextSession is a session that is about to begin.
type nextSession struct {
	*workload.Session
	id     string // of this play
	number int    // among the sessions of the level, from 0
	first  int    // place of its first request among the requests of the level
	marker string // of this play; "" for none
	// of is which request of the session each node is; nil if it is all of them.
	of []int
}

// next opens the next session of the share, for a slot. ok is false when there is none.
func (d *sessions) next(slot int) (_ nextSession, ok bool) {
	d.opening.Lock()
	defer d.opening.Unlock()
	all := d.Set.sessions
	for passed := 0; passed <= all.Sessions(); passed++ {
		if d.Err() != nil || load.IsClosed(d.Admission.Closed()) || d.begun == all.Sessions() && !d.Repeat || d.Most > 0 && d.turns >= d.Most {
			return nextSession{}, false
		}
		next := nextSession{number: d.begun, first: d.turns}
		k := d.Set.sessionAt(d.First + d.begun)
		d.begun++
		o := all.Outline(k)
		requests := o.Requests
		if d.Most > 0 {
			requests = min(requests, d.Most-d.turns)
		}
		d.turns += requests
		if !d.Share.OwnsSession(o.ID) {
			continue
		}
		s, err := all.Open(k)
		if err != nil {
			d.failed(err)
			return nextSession{}, false
		}
		if requests < len(s.Nodes) { // the level ends within the session
			begun := *s
			begun.Nodes = s.Nodes[:requests]
			s = &begun
		}
		next.Session, next.id = s, d.Set.playID(k, o.ID)
		if m := d.Set.Marker; m != nil {
			next.marker = m.Text(int(d.Set.plays[k]), slot, o.ID)
		}
		return next, true
	}
	return nextSession{}, false // the share has no session
}

// started notes that a session sends its first request.
func (d *sessions) started(number int) {
	d.opening.Lock()
	d.latest = max(d.latest, number+1)
	d.opening.Unlock()
	d.mu.Lock()
	d.counts.Begun++
	d.mu.Unlock()
}

// notStarted notes that the load has ended before a session sent its first request, which has place first in the level. A
// later level may play it.
func (d *sessions) notStarted(number, first int) {
	d.opening.Lock()
	defer d.opening.Unlock()
	if number >= d.latest && number < d.begun {
		d.begun, d.turns = number, first
	}
}

// failed keeps the first error of an entry, and ends the load.
func (d *sessions) failed(err error) {
	d.mu.Lock()
	if d.err == nil {
		if _, given := d.Set.Entries.(workload.Sessions); !given { // else the request was not encoded before
			err = rereadError(err)
		}
		d.err = err
	}
	d.mu.Unlock()
	d.Admission.Close()
}

// countContentless counts an answer without content that is followed by a turn.
func (d *sessions) countContentless() {
	d.mu.Lock()
	d.contentless++
	d.mu.Unlock()
}

// count adds the counts of a session that is over.
func (d *sessions) count(c *export.SessionCounts) {
	d.mu.Lock()
	d.counts.Plus(c)
	d.mu.Unlock()
}

// TurnsBegun returns how many requests of the level the sessions have that have begun, or were passed over because they
// belong to other shares. Call it after Run.
func (d *sessions) TurnsBegun() int { return d.turns }

// SessionsBegun returns how many sessions of the level have begun, or were passed over because they belong to other
// shares. Call it after Run.
func (d *sessions) SessionsBegun() int { return d.begun }

// Sessions counts the sessions of the share. Call it after Run.
func (d *sessions) Sessions() *export.SessionCounts { return &d.counts }

// Decoded implements Driver.
func (d *sessions) Decoded(worker int, ok bool) {
	if worker < len(d.backoff) {
		d.backoff[worker].decoded(ok)
	}
}

// Slots implements Driver.
func (d *sessions) Slots() int {
	d.mu.Lock()
	w := d.workers
	d.mu.Unlock()
	switch {
	case w == nil, d.queued: // the workers are the slots
		return max(len(d.backoff), 1)
	}
	return max(len(d.backoff)+w.used(), 1)
}

// Err implements Driver.
func (d *sessions) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Warnings implements Driver.
func (d *sessions) Warnings() (all []string) {
	if d.contentless > 0 {
		all = append(all, fmt.Sprintf("%s before another turn had no content: the history holds the reasoning as content, or leaves the answer out (--history-reasoning); ask for more output tokens", plural.GroupedOf(d.contentless, "answer")))
	}
	c := &d.counts
	notAsked := func(turns, sessions int, why string) {
		if turns == 0 {
			return
		}
		all = append(all, fmt.Sprintf("%s %s not sent, because %s in %s", plural.GroupedOf(turns, "turn"), plural.Form(turns, "was", "were"), why, plural.GroupedOf(sessions, "conversation")))
	}
	if c.Unprimed > 0 {
		all = append(all, fmt.Sprintf("%s within sessions failed before the measurement, so the server may not have %s in its cache", plural.GroupedOf(c.Unprimed, "request"), plural.Form(c.Unprimed, "its prompt", "their prompts")))
	}
	notAsked(c.NotSent.Failed, c.Failed, "an earlier turn failed")
	notAsked(c.NotSent.Overflow, c.Overflow, "an earlier turn was longer than the context of the model")
	if n := c.Unanswered; n > 0 {
		all = append(all, fmt.Sprintf("%s %s sent without the previous answer, because its request failed (--on-session-failure continue)", plural.GroupedOf(n, "turn"), plural.Form(n, "was", "were")))
	}
	return all
}

// sessionSlots runs the slots of a share of the sessions. A slot is free for the next session when all requests of its
// session have ended.
type sessionSlots struct{ sessions }

func newSessionSlots(level load.Sessions, s Stage) *sessionSlots {
	return &sessionSlots{sessions{Stage: s, backoff: make([]slotBackoff, s.Share.Slots(level.N)), kept: true}}
}

// Run implements Driver.
func (d *sessionSlots) Run(ctx context.Context) {
	if !d.awaitStart() {
		return
	}
	sending, end := d.begin(ctx, len(d.backoff), math.MaxInt)
	defer end()
	begun := make([]nextSession, len(d.backoff))
	var startNS uint64
	if d.Starts != nil {
		startNS = d.beginWithin(ctx, sending, begun)
	}
	d.each(func(i int) { d.slot(ctx, sending, i, begun[i], startNS) })
}

// each calls f for each slot at the same time.
func (d *sessionSlots) each(f func(i int)) {
	var slots sync.WaitGroup
	for i := range d.backoff {
		slots.Go(func() { f(i) })
	}
	slots.Wait()
}

// slot plays sessions until there are no more. The first one is what is left of one that has begun, if there is one, and goes on
// at startNS.
func (d *sessionSlots) slot(ctx, sending context.Context, i int, begun nextSession, startNS uint64) {
	sender, err := d.Senders.sender(ctx, i)
	if err != nil {
		return // it was opened before
	}
	for ctx.Err() == nil {
		s := begun
		if begun = (nextSession{}); s.Session == nil {
			var ok bool
			if s, ok = d.next(d.Share.Number(i)); !ok {
				break
			}
		}
		p := newPlay(sending, &d.sessions, s)
		p.startNS, startNS = startNS, 0
		if p.run(ctx, worker{i, sender}); !d.backoff[i].sleep(ctx) {
			return
		}
	}
	if d.Refill && d.Err() == nil {
		d.Admission.over(d.Clock.NowNS())
	}
}

// sessionRequests has a number of requests of sessions in flight. A worker is free while a session thinks, for the requests
// of other sessions. When none of them is due, it begins the next session.
type sessionRequests struct {
	sessions
	level load.SessionRequests
}

func newSessionRequests(level load.SessionRequests, s Stage) *sessionRequests {
	return &sessionRequests{sessions{Stage: s, backoff: make([]slotBackoff, s.Share.Slots(level.N)), queued: true}, level}
}

// Run implements Driver.
func (d *sessionRequests) Run(ctx context.Context) {
	if !d.awaitStart() {
		return
	}
	at := 0 // workers that begin with the level
	for at < len(d.backoff) && d.level.Begin(d.Share.Number(at)) == 0 {
		at++
	}
	sending, end := d.begin(ctx, 0, at)
	defer end()
	var live sync.WaitGroup
	defer live.Wait()
	d.workers.opened.Go(func() {
		for i := at; i < len(d.backoff) && load.WaitTimer(d.Start.Add(d.level.Begin(d.Share.Number(i))), sending.Done()); i++ {
			d.workers.allow(i + 1)
		}
	})
	for {
		w, ok := d.workers.takeIdle()
		if !ok {
			return
		}
		s, ok := d.next(0)
		if !ok {
			d.workers.give(w)
			return
		}
		live.Go(func() { newPlay(sending, &d.sessions, s).run(ctx, w) })
	}
}

// maxPrepared is how many sessions of an open loop are opened and encoded before they are due.
const maxPrepared = 4

// sessionArrivals begins each session at the instant that a schedule says. The ranks follow one schedule: its n-th instant is
// the n-th session's, whatever rank that belongs to.
type sessionArrivals struct {
	sessions
	schedule load.Schedule
	live     chan struct{} // has a value for each session in flight; nil: there may be any number of them
	prepared chan struct{} // has a value for each session that is about to begin

	// These belong to the goroutine of the session that was opened last.
	taken int           // instants of the schedule
	at    time.Duration // the last of them

	playing sync.WaitGroup
}

func newSessionArrivals(level load.Open, s Stage) *sessionArrivals {
	d := &sessionArrivals{sessions: sessions{Stage: s}, schedule: level.Schedule(), prepared: make(chan struct{}, maxPrepared)}
	if n := s.Share.Slots(level.Slots()); n > 0 {
		d.live = make(chan struct{}, n)
	}
	return d
}

// Run implements Driver.
func (d *sessionArrivals) Run(ctx context.Context) {
	sending, end := d.begin(ctx, 0, maxOpenSlots)
	defer end()
	d.workers.keep(reserve)
	d.playing.Go(func() { d.play(ctx, sending) })
	d.playing.Wait()
}

// play plays the next session of the schedule. When it is ready to begin, another goroutine makes the one after it ready.
func (d *sessionArrivals) play(ctx, sending context.Context) {
	if !enter(d.prepared, sending) {
		return
	}
	began := sync.OnceFunc(func() { <-d.prepared })
	defer began()
	s, ok := d.next(0)
	if !ok {
		return
	}
	for d.taken <= s.number {
		if d.at, ok = d.schedule.Next(); !ok {
			return
		}
		d.taken++
	}
	due := d.Start.Add(d.at)
	p := newPlay(sending, &d.sessions, s)
	p.startNS = d.Clock.NS(due)
	if d.live != nil {
		if !enter(d.live, sending) {
			p.end(endedByLoad)
			p.over()
			return
		}
		defer func() { <-d.live }()
		p.heldBack = time.Until(due) < 0
	}
	p.ready = func() { d.playing.Go(func() { d.play(ctx, sending) }) }
	p.near = began
	p.run(ctx, worker{})
}

// enter puts a value into a channel when it has room; false when ctx is done first.
func enter(c chan<- struct{}, ctx context.Context) bool {
	select {
	case c <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
