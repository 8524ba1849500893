package recorder

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// A closedLoop is N slots, each of which sends its next request as soon as the
// last one has ended.
type closedLoop struct {
	crew
	level load.Concurrency

	failing []failing // by slot
}

// failing counts the failures in a row of a slot.
type failing struct {
	seen int
	// hidden are those that only the decoded bytes showed, such as an error event
	// in a stream: the collector tells of them.
	hidden atomic.Int32
}

// ended notes how a request ended, as far as the slot knows.
func (f *failing) ended(ok bool) {
	if ok {
		f.seen = 0
	} else {
		f.seen++
	}
}

// decoded notes how one ended that had come through.
func (f *failing) decoded(ok bool) {
	if ok {
		f.hidden.Store(0)
	} else {
		f.hidden.Add(1)
	}
}

// sleep waits before the slot tries again, from the second failure in a row on, so
// that a dead server is not asked a million times a second. It reports whether
// ctx is still alive.
func (f *failing) sleep(ctx context.Context) bool {
	return sleep(ctx, backoff(max(f.seen, int(f.hidden.Load()))))
}

func newClosedLoop(level load.Concurrency, c crew) *closedLoop {
	return &closedLoop{crew: c, level: level, failing: make([]failing, level.N)}
}

func (d *closedLoop) run(ctx context.Context) {
	var slots sync.WaitGroup
	for i := range d.level.N {
		slots.Go(func() {
			if begin := d.level.Begin(i); begin == 0 || load.WaitTimer(d.start.Add(begin), d.gate.closed) {
				d.slot(ctx, i)
			}
		})
	}
	slots.Wait()
}

func (d *closedLoop) decoded(worker int, ok bool) { d.failing[worker].decoded(ok) }

func (d *closedLoop) slots() int { return d.level.N }

// slot sends the requests of slot i. A request that fails is put like any other.
func (d *closedLoop) slot(ctx context.Context, i int) {
	sender, err := d.fleet.sender(ctx, i)
	if err != nil {
		return // it was opened before
	}
	failing := &d.failing[i]
	line := line{crew: &d.crew}
	defer func() { line.close(ctx, i, sender) }()
	for ctx.Err() == nil {
		now := d.clock.NowNS()
		p, ok := d.gate.next(now, now)
		if !ok {
			return
		}
		q, ok := line.prepare(p.number)
		if !ok {
			return
		}
		x := d.exchange(ctx, i, sender, errand{pass: p, parcel: q, step: line.step(false)})
		failing.ended(x.Request.Status == export.StatusOK)
		line.sent(x)
		d.out.put(x) // x is the collector's from here on
		if !failing.sleep(ctx) {
			return
		}
	}
}

// backoff returns how long to wait after the n-th failure in a row: nothing
// after the first, then 10 ms doubling up to 1 s.
func backoff(n int) time.Duration {
	if n < 2 {
		return 0
	}
	return min(10*time.Millisecond<<min(n-2, 10), time.Second)
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
