package drive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A conversation is the turns of one session of the workload.
type conversation struct {
	session string
	turns   []int // as numbers of entries
}

// FindConversations groups the entries by their sessions, in the order in which these
// begin, for load.Sessions. The backend must be Conversational. It encodes each turn
// once, without the turns before, to find mistakes. The error is from reading or
// encoding an entry, or from ctx.
func (s *RequestSet) FindConversations(ctx context.Context) error {
	b := s.Backend.(backend.Conversational)
	var all []conversation
	number := map[string]int{} // index of a session in all
	for k := range s.Entries.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := s.Entries.At(k)
		if err != nil {
			return err
		}
		if e.Session == "" {
			return fmt.Errorf("%s: no \"session_id\"; sessions need one in every entry", e.Place())
		}
		if _, err := b.NewConversation().Turn(&e); err != nil {
			return err
		}
		i, ok := number[e.Session]
		if !ok {
			i = len(all)
			number[e.Session] = i
			all = append(all, conversation{session: e.Session})
		}
		all[i].turns = append(all[i].turns, k)
	}
	s.conversations = all
	return nil
}

// Conversations returns the number of conversations; 0 before FindConversations.
func (s *RequestSet) Conversations() int { return len(s.conversations) }

// TakeConversations replaces FindConversations: it takes over the conversations of a set with the
// same sessions.
func (s *RequestSet) TakeConversations(from *RequestSet) { s.conversations = from.conversations }

// ConversationsIn returns how many conversations, from position first of the order on, hold a
// number of turns. The last conversation counts even if it has more turns.
func (s *RequestSet) ConversationsIn(first, turns int) int {
	n := 0
	for ; turns > 0; n++ {
		turns -= len(s.conversations[s.Order.Index(first+n, len(s.conversations))].turns)
	}
	return n
}

// Turns returns how many of the first n turns of the level belong to a share, if the level
// begins with the conversation at position first of the order. The turns count conversation
// by conversation, in the order in which these begin; n is at most the number of entries.
// FindConversations must have been called.
func (s *RequestSet) Turns(share ranks.Share, first, n int) int {
	owned, passed := 0, 0
	for i := range s.conversations {
		c := s.conversations[s.Order.Index(first+i, len(s.conversations))]
		if share.OwnsSession(c.session) {
			owned += max(min(len(c.turns), n-passed), 0)
		}
		passed += len(c.turns)
	}
	return owned
}

// conversations runs the slots of a share of the conversations. Each slot holds one conversation after the other. It sends
// a turn when the previous one was answered and the think time is over.
type conversations struct {
	Stage

	backoff []slotBackoff // by slot

	mu      sync.Mutex // guards the fields below, and the source of entries
	begun   int        // conversations of the level; conversations of other shares are passed over
	turns   int        // of the conversations that have begun or were passed over
	broken  int        // conversations that ended with a failed turn
	skipped int        // turns that were not sent because of that
	// contentless counts the answers without content that were followed by a turn.
	contentless int
	err         error // from reading or encoding an entry
}

func (d *conversations) Run(ctx context.Context) {
	if !d.awaitStart() {
		return
	}
	var slots sync.WaitGroup
	for i := range d.Slots() {
		slots.Go(func() { d.slot(ctx, i) })
	}
	slots.Wait()
}

// slot holds conversations until there are no more.
func (d *conversations) slot(ctx context.Context, i int) {
	sender, err := d.Senders.sender(ctx, i)
	if err != nil {
		return // it was opened before
	}
	for ctx.Err() == nil {
		turns, first, ok := d.next()
		if !ok || !d.hold(ctx, i, sender, turns, first) || !d.backoff[i].sleep(ctx) {
			return
		}
	}
}

// next returns the next conversation of the share, and the place of its first turn among
// the turns of the level; false when there is none.
func (d *conversations) next() (_ conversation, first int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.Set.conversations
	for passed := 0; passed <= len(all); passed++ {
		if d.err != nil || d.begun == len(all) && !d.Repeat {
			return conversation{}, 0, false
		}
		c := all[d.Set.Order.Index(d.First+d.begun, len(all))]
		d.begun++
		first = d.turns
		d.turns += len(c.turns)
		if d.Share.OwnsSession(c.session) {
			return c, first, true
		}
	}
	return conversation{}, 0, false // the share has no conversation
}

// hold runs one conversation, whose first turn has the place first. It returns false if
// no more requests may be sent.
func (d *conversations) hold(ctx context.Context, i int, sender backend.Sender, talk conversation, first int) bool {
	c := d.Set.Backend.(backend.Conversational).NewConversation()
	dueNS := uint64(0) // when the think time ends; 0 without one
	for turn, k := range talk.turns {
		d.Yielder.Yield()
		e, payload, err := d.prepare(c, k)
		if err != nil {
			return false
		}
		if dueNS > 0 {
			until := time.Now().Add(time.Duration(dueNS) - time.Duration(d.Clock.NowNS()))
			if !d.Wait(until, d.Admission.Closed(), nil) {
				return false
			}
		}
		now := d.Clock.NowNS()
		p, ok := d.Admission.admit(now, now)
		if !ok {
			return false
		}
		x := d.exchange(ctx, i, sender, dispatch{
			ticket: p, preparedRequest: preparedRequest{payload: payload, entry: &e}, dueNS: dueNS,
			place: first + turn, turnPlaced: !d.Share.Whole(),
		})
		contentless, err := c.AddReply(x)
		d.backoff[i].ended(&x.Request, err == nil)
		endNS := x.Request.FailedNS
		d.Completed.Put(x) // x is the collector's from here on
		if err != nil {
			d.mu.Lock()
			d.broken++
			d.skipped += len(talk.turns) - turn - 1
			d.mu.Unlock()
			return true
		}
		if contentless && turn+1 < len(talk.turns) {
			d.mu.Lock()
			d.contentless++
			d.mu.Unlock()
		}
		if dueNS = 0; e.Delay > 0 {
			dueNS = endNS + uint64(e.Delay)
		}
	}
	return true
}

// prepare encodes entry k as the next turn.
func (d *conversations) prepare(c backend.Conversation, k int) (workload.Entry, backend.Payload, error) {
	d.mu.Lock()
	e, err := d.Set.Entries.At(k)
	d.mu.Unlock()
	var p backend.Payload
	if err == nil {
		p, err = c.Turn(&e)
	}
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err == nil {
			d.err = rereadError(err)
		}
	}
	return e.Bare(), p, err
}

// TurnsBegun returns how many turns of the level the conversations have that have begun,
// or were passed over because they belong to other shares. Call it after Run.
func (d *conversations) TurnsBegun() int { return d.turns }

// ConversationsBegun returns how many conversations of the level have begun, or were passed
// over because they belong to other shares. Call it after Run.
func (d *conversations) ConversationsBegun() int { return d.begun }

// Decoded implements Driver.
func (d *conversations) Decoded(worker int, ok bool) { d.backoff[worker].decoded(ok) }

// Slots implements Driver.
func (d *conversations) Slots() int { return len(d.backoff) }

// Err implements Driver.
func (d *conversations) Err() error { return d.err }

// Warnings implements Driver.
func (d *conversations) Warnings() (all []string) {
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
