package recorder

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// A periodic level sends requests in batches: the next one when all requests of
// the last one have got so many responses, or are over. Each slot sends one.
type periodic struct {
	crew
	level load.Periodic

	lacking atomic.Int32  // requests of the last batch that lack responses
	reached chan struct{} // none does; room for one
	early   atomic.Int32  // requests that were over before they had so many
}

func newPeriodic(level load.Periodic, c crew) *periodic {
	return &periodic{crew: c, level: level, reached: make(chan struct{}, 1)}
}

func (d *periodic) run(ctx context.Context) {
	var flying sync.WaitGroup
	defer flying.Wait()
	for sent, batch := 0, d.level.Start; sent < d.level.End; batch = d.level.Step {
		d.lacking.Store(int32(batch))
		for range batch {
			slot := sent
			sent++
			flying.Go(func() { d.send(ctx, slot) })
		}
		if sent == d.level.End {
			return
		}
		select {
		case <-d.reached:
		case <-d.gate.closed:
			return
		}
	}
}

// send sends the one request of a slot.
func (d *periodic) send(ctx context.Context, slot int) {
	sender, err := d.fleet.sender(ctx, slot)
	if err != nil {
		return // it was opened before
	}
	now := d.clock.NowNS()
	p, ok := d.gate.next(now, now)
	if !ok {
		return
	}
	q, ok := d.supply.take(p.number)
	if !ok {
		return
	}
	there := false // so many responses
	x := d.exchange(ctx, slot, sender, errand{pass: p, parcel: q, received: func(responses int) {
		if responses == d.level.Period {
			there = true
			d.arrive()
		}
	}})
	if !there {
		d.early.Add(1)
		d.arrive()
	}
	d.out.put(x)
}

// arrive notes that a request of the last batch lacks no more responses.
func (d *periodic) arrive() {
	if d.lacking.Add(-1) == 0 {
		d.reached <- struct{}{} // it has room: the next batch waits for it
	}
}

// decoded implements driver. Nothing is tried again.
func (d *periodic) decoded(int, bool) {}

// slots implements driver.
func (d *periodic) slots() int { return d.level.Start }

// warnings implements driver.
func (d *periodic) warnings() []string {
	if n := d.early.Load(); n > 0 {
		return []string{fmt.Sprintf("%s ended before response %d, so the next step of the load began early", plural.GroupedOf(n, "request"), d.level.Period)}
	}
	return nil
}
