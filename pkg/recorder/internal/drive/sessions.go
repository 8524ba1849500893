package drive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/plural"
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
		s.sessions = given // each entry was encoded already
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

// TakeSessions replaces FindSessions: the sessions have the same outlines as those of another set.
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
// position first of the order. The requests count session by session, in the order in which these begin; n is at most
// the number of entries. FindSessions must have been called.
func (s *RequestSet) Turns(share ranks.Share, first, n int) int {
	owned, passed := 0, 0
	for i := range s.sessions.Sessions() {
		o := s.sessions.Outline(s.sessionAt(first + i))
		if share.OwnsSession(o.ID) {
			owned += max(min(o.Requests, n-passed), 0)
		}
		passed += o.Requests
	}
	return owned
}

// sessions runs the slots of a share of the sessions. A slot is free for the next session when all requests of its
// session have ended.
type sessions struct {
	Stage

	backoff []slotBackoff // by slot

	mu       sync.Mutex // guards the fields below, and the opening of sessions
	begun    int        // sessions of the level; sessions of other shares are passed over
	turns    int        // of the sessions that have begun or were passed over
	broken   int        // sessions that ended with a failed request
	skipped  int        // requests that were not sent because of that
	branches branchWorkers
	// contentless counts the answers without content that were followed by a turn.
	contentless int
	err         error // from reading or encoding an entry
}

// branchWorkers numbers the workers that send requests of a session beside its slot.
type branchWorkers struct {
	free []int
	n    int
}

// take returns the least number that is free, from 0.
func (b *branchWorkers) take() int {
	if last := len(b.free) - 1; last >= 0 {
		n := b.free[last]
		b.free = b.free[:last]
		return n
	}
	b.n++
	return b.n - 1
}

func (d *sessions) Run(ctx context.Context) {
	if !d.awaitStart() {
		return
	}
	sending, stop := context.WithCancel(ctx) // done when no request may be sent any more
	defer stop()
	var slots, watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-d.Admission.Closed():
			stop()
		case <-sending.Done():
		}
	})
	for i := range d.backoff {
		slots.Go(func() { d.slot(ctx, sending, i) })
	}
	slots.Wait()
	stop()
	watching.Wait()
}

// slot plays sessions until there are no more.
func (d *sessions) slot(ctx, sending context.Context, i int) {
	sender, err := d.Senders.sender(ctx, i)
	if err != nil {
		return // it was opened before
	}
	for ctx.Err() == nil {
		s, id, first, ok := d.next()
		if !ok {
			return
		}
		p := newPlay(sending, d, s, id, first, &d.backoff[i])
		if p.run(ctx, i, sender); p.ended() || !d.backoff[i].sleep(ctx) {
			return
		}
	}
}

// next opens the next session of the share. id is the id of this play of it, and first the place of its first request among
// the requests of the level. ok is false when there is none.
func (d *sessions) next() (s *workload.Session, id string, first int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.Set.sessions
	for passed := 0; passed <= all.Sessions(); passed++ {
		if d.err != nil || d.begun == all.Sessions() && !d.Repeat {
			return nil, "", 0, false
		}
		k := d.Set.sessionAt(d.First + d.begun)
		d.begun++
		o := all.Outline(k)
		first = d.turns
		d.turns += o.Requests
		if d.Share.OwnsSession(o.ID) {
			s, err := all.Open(k)
			if err != nil {
				d.err = rereadError(err)
			}
			return s, d.Set.playID(k, o.ID), first, err == nil
		}
	}
	return nil, "", 0, false // the share has no session
}

// failed keeps the first error of an entry.
func (d *sessions) failed(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = rereadError(err)
	}
}

// countContentless counts an answer without content that is followed by a turn.
func (d *sessions) countContentless() {
	d.mu.Lock()
	d.contentless++
	d.mu.Unlock()
}

// borrow returns a worker beside the slots, with its sender. It retries until the sender opens; false when the load ends
// first. The caller gives the worker back.
func (d *sessions) borrow(ctx context.Context) (worker int, _ backend.Sender, ok bool) {
	d.mu.Lock()
	worker = len(d.backoff) + d.branches.take()
	d.mu.Unlock()
	for failures := 1; ; failures++ {
		sender, err := d.Senders.sender(ctx, worker)
		if err == nil {
			return worker, sender, true
		}
		if !load.WaitTimer(time.Now().Add(backoffTime(failures+1)), d.Admission.Closed()) {
			d.giveBack(worker)
			return 0, nil, false
		}
	}
}

func (d *sessions) giveBack(worker int) {
	d.mu.Lock()
	d.branches.free = append(d.branches.free, worker-len(d.backoff))
	d.mu.Unlock()
}

// TurnsBegun returns how many requests of the level the sessions have that have begun, or were passed over because they
// belong to other shares. Call it after Run.
func (d *sessions) TurnsBegun() int { return d.turns }

// SessionsBegun returns how many sessions of the level have begun, or were passed over because they belong to other
// shares. Call it after Run.
func (d *sessions) SessionsBegun() int { return d.begun }

// Decoded implements Driver.
func (d *sessions) Decoded(worker int, ok bool) {
	if worker < len(d.backoff) {
		d.backoff[worker].decoded(ok)
	}
}

// Slots implements Driver.
func (d *sessions) Slots() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.backoff) + d.branches.n
}

// Err implements Driver.
func (d *sessions) Err() error { return d.err }

// Warnings implements Driver.
func (d *sessions) Warnings() (all []string) {
	if d.contentless > 0 {
		all = append(all, fmt.Sprintf("%s before another turn had no content: the history holds the reasoning as content, or leaves the answer out (--history-reasoning); ask for more output tokens", plural.GroupedOf(d.contentless, "answer")))
	}
	if d.skipped == 0 {
		return all
	}
	were := "were"
	if d.skipped == 1 {
		were = "was"
	}
	return append(all, fmt.Sprintf("%s %s not asked, since an earlier turn failed in %s", plural.GroupedOf(d.skipped, "turn"), were, plural.GroupedOf(d.broken, "conversation")))
}
