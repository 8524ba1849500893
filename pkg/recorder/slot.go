package recorder

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A gate gives out the numbers of the requests that a stage may send.
type gate struct {
	mu     sync.Mutex
	budget int // requests to send in all; < 0 is no bound
	issued int
	closed bool
}

// next returns the number of the next request, from 0, and false when no more
// may be sent.
func (g *gate) next() (int, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.budget >= 0 && g.issued >= g.budget {
		return 0, false
	}
	g.issued++
	return g.issued - 1, true
}

func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.issued
}

// A slot is one of the N senders of a closed loop.
type slot struct {
	worker  int
	sender  backend.Sender
	supply  *supply
	timeout time.Duration // of a request; < 0 is none
	firstID uint64        // of the stage
	clock   *rxclock.Clock
	phase   export.Phase
	out     *mailbox

	// hidden counts failures in a row that only the decoded bytes showed, such
	// as an error event in a stream: the collector tells of them.
	hidden atomic.Int32
}

// decoded is told by the collector how a request ended that had come through.
func (s *slot) decoded(ok bool) {
	if ok {
		s.hidden.Store(0)
	} else {
		s.hidden.Add(1)
	}
}

// run sends until the gate closes, the supply ends or ctx is done. A request that fails is put
// like any other; from the second failure in a row on the slot waits before it
// tries again, so that a dead server is not asked a million times a second.
func (s *slot) run(ctx context.Context, g *gate) {
	failures := 0
	for ctx.Err() == nil {
		i, ok := g.next()
		if !ok {
			return
		}
		p, ok := s.supply.take(i)
		if !ok {
			return
		}
		x := &backend.Exchange{Request: export.Request{
			ID: s.firstID + uint64(i), Worker: s.worker, Phase: s.phase, HasMeta: true, Inputs: p.payload.Inputs(),
			SessionID: p.entry.Session, Turn: p.entry.Turn,
		}}
		s.send(ctx, p.payload, x)
		x.Request.EndedNS = s.clock.NowNS()
		failed := x.Request.Status != export.StatusOK
		s.out.put(x) // x is the collector's from here on
		if failed {
			failures++
		} else {
			failures = 0
		}
		if !pause(ctx, backoff(max(failures, int(s.hidden.Load())))) {
			return
		}
	}
}

func (s *slot) send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	if s.timeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	s.sender.Send(ctx, p, x)
}

// backoff returns how long to wait after the n-th failure in a row: nothing
// after the first, then 10 ms doubling up to 1 s.
func backoff(n int) time.Duration {
	if n < 2 {
		return 0
	}
	return min(10*time.Millisecond<<min(n-2, 10), time.Second)
}

// pause waits for d and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
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
