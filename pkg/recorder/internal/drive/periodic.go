package drive

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// periodic sends requests in batches, one request per slot. The next batch starts when
// each request of the last one has had level.Period responses or has ended.
type periodic struct {
	Stage
	level load.Periodic

	lacking atomic.Int32  // requests of the last batch with fewer than Period responses
	reached chan struct{} // lacking is 0; room for one
	early   atomic.Int32  // requests that ended with fewer
}

func (d *periodic) Run(ctx context.Context) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for sent, batch := 0, d.level.Start; sent < d.level.End; batch = d.level.Step {
		d.lacking.Store(int32(batch))
		for range batch {
			slot := sent
			sent++
			inFlight.Go(func() { d.send(ctx, slot) })
		}
		if sent == d.level.End {
			return
		}
		select {
		case <-d.reached:
		case <-d.Admission.Closed():
			return
		}
	}
}

// send sends the one request of a slot.
func (d *periodic) send(ctx context.Context, slot int) {
	sender, err := d.Senders.sender(ctx, slot)
	if err != nil {
		return // it was opened before
	}
	now := d.Clock.NowNS()
	p, ok := d.Admission.admit(now, now)
	if !ok {
		return
	}
	q, ok := d.Requests.take(p.number)
	if !ok {
		return
	}
	reached := false
	x := d.exchange(ctx, slot, sender, dispatch{ticket: p, preparedRequest: q, received: func(responses int) {
		if responses == d.level.Period {
			reached = true
			d.arrive()
		}
	}})
	if !reached {
		d.early.Add(1)
		d.arrive()
	}
	d.Completed.Put(x)
}

// arrive notes that a request of the last batch has had Period responses or has ended.
func (d *periodic) arrive() {
	if d.lacking.Add(-1) == 0 {
		d.reached <- struct{}{} // it has room: the next batch waits for it
	}
}

// Decoded implements Driver. No request is repeated.
func (d *periodic) Decoded(int, bool) {}

// Slots implements Driver.
func (d *periodic) Slots() int { return d.level.Start }

// Warnings implements Driver.
func (d *periodic) Warnings() []string {
	if n := d.early.Load(); n > 0 {
		return []string{fmt.Sprintf("%s ended before response %d, so the next step of the load began early", plural.GroupedOf(n, "request"), d.level.Period)}
	}
	return nil
}
