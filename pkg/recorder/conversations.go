package recorder

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A dialogue is a conversation of the workload: its turns, as numbers of entries.
type dialogue []int

// dialogues returns the conversations of src in the order in which they begin
// there. It makes each turn once, without the turns before, to find mistakes. The
// error is that of src, or of an entry.
func dialogues(ctx context.Context, src workload.Source, talker backend.Talker) ([]dialogue, error) {
	var all []dialogue
	number := map[string]int{} // of a conversation in all
	for k := range src.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := src.At(k)
		if err != nil {
			return nil, err
		}
		if e.Session == "" {
			return nil, fmt.Errorf("%s: no \"session_id\"; sessions need one in every entry", e.Place())
		}
		if _, err := talker.Converse().Turn(&e); err != nil {
			return nil, err
		}
		i, ok := number[e.Session]
		if !ok {
			i = len(all)
			number[e.Session] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], k)
	}
	return all, nil
}

// conversations is a closed loop of N slots, each of which holds one conversation
// after the other: a turn is asked when the one before it was answered and its
// user has thought about it.
type conversations struct {
	crew
	level load.Sessions
	stock *stock
	again bool // around and around, since something else ends the load

	failing []failing // by slot

	mu      sync.Mutex // guards what follows, and the source of entries
	begun   int        // conversations
	broken  int        // those that ended with a turn that failed
	skipped int        // turns that were not asked because of that
	err     error      // of the source
}

func newConversations(level load.Sessions, c crew, s *stock, again bool) *conversations {
	return &conversations{crew: c, level: level, stock: s, again: again, failing: make([]failing, level.N)}
}

func (d *conversations) run(ctx context.Context) {
	var slots sync.WaitGroup
	for i := range d.level.N {
		slots.Go(func() { d.slot(ctx, i) })
	}
	slots.Wait()
}

// slot holds conversations until there are no more.
func (d *conversations) slot(ctx context.Context, i int) {
	sender, err := d.fleet.sender(ctx, i)
	if err != nil {
		return // it was opened before
	}
	for ctx.Err() == nil {
		turns, ok := d.next()
		if !ok || !d.converse(ctx, i, sender, turns) || !d.failing[i].sleep(ctx) {
			return
		}
	}
}

// next returns the next conversation; false when there is none.
func (d *conversations) next() (dialogue, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.stock.dialogues
	if d.err != nil || d.begun == len(all) && !d.again {
		return nil, false
	}
	d.begun++
	return all[d.stock.order.Index(d.begun-1, len(all))], true
}

// converse holds a conversation; false says that no more may be sent.
func (d *conversations) converse(ctx context.Context, i int, sender backend.Sender, turns dialogue) bool {
	c := d.stock.backend.(backend.Talker).Converse()
	dueNS := uint64(0) // of a turn that is thought about
	for turn, k := range turns {
		e, payload, err := d.prepare(c, k)
		if err != nil {
			return false
		}
		if dueNS > 0 {
			until := time.Now().Add(time.Duration(dueNS) - time.Duration(d.clock.NowNS()))
			if !d.wait(until, d.gate.closed, nil) {
				return false
			}
		}
		now := d.clock.NowNS()
		p, ok := d.gate.next(now, now)
		if !ok {
			return false
		}
		x := d.exchange(ctx, i, sender, errand{pass: p, parcel: parcel{payload: payload, entry: &e}, dueNS: dueNS})
		err = c.Answered(x)
		d.failing[i].ended(err == nil)
		endNS := x.Request.EndedNS
		d.out.put(x) // x is the collector's from here on
		if err != nil {
			d.mu.Lock()
			d.broken++
			d.skipped += len(turns) - turn - 1
			d.mu.Unlock()
			return true
		}
		if dueNS = 0; e.Delay > 0 {
			dueNS = endNS + uint64(e.Delay)
		}
	}
	return true
}

// prepare prepares the turn that entry k is.
func (d *conversations) prepare(c backend.Conversation, k int) (workload.Entry, backend.Payload, error) {
	d.mu.Lock()
	e, err := d.stock.entries.At(k)
	d.mu.Unlock()
	var p backend.Payload
	if err == nil {
		p, err = c.Turn(&e)
	}
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err == nil {
			d.err = fmt.Errorf("input data that could be read before: %w", err)
		}
	}
	return e.Bare(), p, err
}

// decoded implements driver.
func (d *conversations) decoded(worker int, ok bool) { d.failing[worker].decoded(ok) }

// slots implements driver.
func (d *conversations) slots() int { return d.level.N }

// failure implements driver.
func (d *conversations) failure() error { return d.err }

// warnings implements driver.
func (d *conversations) warnings() []string {
	if d.skipped == 0 {
		return nil
	}
	were := "were"
	if d.skipped == 1 {
		were = "was"
	}
	return []string{fmt.Sprintf("%s %s not asked, since an earlier turn failed in %s", plural.GroupedOf(d.skipped, "turn"), were, plural.GroupedOf(d.broken, "conversation"))}
}
