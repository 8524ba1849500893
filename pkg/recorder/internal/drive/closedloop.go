package drive

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// closedLoop runs the slots of a share of a level. Each slot sends its next request as soon as the last one has
// ended.
type closedLoop struct {
	Stage
	level load.Concurrency

	backoff []slotBackoff // by slot
}

// slotBackoff makes a slot wait after failures in a row, so that it does not send a
// million requests a second to a dead server.
type slotBackoff struct {
	seen int
	// hidden counts failures that only the decoded bytes showed, such as an error
	// event in a stream. The collector reports them.
	hidden atomic.Int32
}

// limitFailures is the number of failures in a row after which a slot waits as long as after the first one that
// a limit of this machine causes: 160 ms.
const limitFailures = 6

// limitWaits ends the message of a request that a limit of this machine made fail in a closed loop.
const limitWaits = "; the slot waits before its next request"

// ended notes how a request ended before it was decoded. A slot that lacks a file descriptor or a port waits also after
// the first failure, because the other slots keep theirs: it would use up the requests of the level. The message of r
// then says that the slot waits.
func (f *slotBackoff) ended(r *export.Request, ok bool) {
	switch {
	case ok:
		f.seen = 0
	case backend.MetLocalLimit(r):
		f.seen = max(f.seen+1, limitFailures)
		r.Message += limitWaits
	default:
		f.seen++
	}
}

// decoded notes how a request ended whose transfer succeeded.
func (f *slotBackoff) decoded(ok bool) {
	if ok {
		f.hidden.Store(0)
	} else {
		f.hidden.Add(1)
	}
}

// sleep waits from the second failure in a row on, see ended and backoffTime. It reports whether ctx is still
// alive.
func (f *slotBackoff) sleep(ctx context.Context) bool {
	if d := backoffTime(max(f.seen, int(f.hidden.Load()))); d > 0 {
		return load.WaitTimer(time.Now().Add(d), ctx.Done())
	}
	return ctx.Err() == nil
}

func (d *closedLoop) Run(ctx context.Context) {
	if !d.awaitStart() {
		return
	}
	var slots sync.WaitGroup
	for i := range d.Slots() {
		slots.Go(func() {
			if begin := d.level.Begin(d.Share.Number(i)); begin == 0 || load.WaitTimer(d.Start.Add(begin), d.Admission.Closed()) {
				d.slot(ctx, i)
			}
		})
	}
	slots.Wait()
}

// Decoded implements Driver.
func (d *closedLoop) Decoded(worker int, ok bool) { d.backoff[worker].decoded(ok) }

// Slots implements Driver.
func (d *closedLoop) Slots() int { return len(d.backoff) }

// slot sends the requests of slot i. A failed request goes to the queue like any other.
func (d *closedLoop) slot(ctx context.Context, i int) {
	sender, err := d.Senders.sender(ctx, i)
	if err != nil {
		return // it was opened before
	}
	backoff := &d.backoff[i]
	feed := slotFeed{Stage: &d.Stage}
	defer func() { feed.close(ctx, i, sender) }()
	for ctx.Err() == nil {
		d.Yielder.Yield()
		now := d.Clock.NowNS()
		p, ok := d.Admission.admit(now, now)
		if !ok {
			return
		}
		q, ok := feed.prepare(p.number)
		if !ok {
			return
		}
		x := d.exchange(ctx, i, sender, dispatch{ticket: p, preparedRequest: q, step: feed.step(false)})
		backoff.ended(&x.Request, x.Request.Status == export.StatusOK)
		feed.sent(x)
		d.Completed.Put(x) // x is the collector's from here on
		if !backoff.sleep(ctx) {
			return
		}
	}
}

// backoffTime returns how long to wait after the n-th failure in a row: nothing
// after the first, then 10 ms doubling up to 1 s.
func backoffTime(n int) time.Duration {
	if n < 2 {
		return 0
	}
	return min(10*time.Millisecond<<min(n-2, 10), time.Second)
}
