package drive

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// SenderPool opens one sender per slot on first use and keeps it for later levels.
// Use NewSenderPool.
type SenderPool struct {
	backend backend.Backend
	clock   *rxclock.Clock
	every   time.Duration // least time between two openings of Open

	mu      sync.Mutex
	senders []backend.Sender // by slot; nil: not open

	turn chan struct{} // held by the goroutine of Open that waits for the next opening
	next time.Time     // when Open may open the next sender; turn guards it
	wait func(until time.Time, done <-chan struct{}) bool
}

// NewSenderPool returns a pool without senders, which get clock. Its method Open opens at most perSecond
// senders a second, or as many as it can if that is 0.
func NewSenderPool(b backend.Backend, clock *rxclock.Clock, perSecond float64) *SenderPool {
	p := &SenderPool{backend: b, clock: clock, turn: make(chan struct{}, 1), wait: load.WaitTimer}
	if perSecond > 0 {
		p.every = time.Duration(float64(time.Second) / perSecond)
	}
	return p
}

// sender returns the sender of a slot and opens it if needed. Different slots may call
// it at the same time.
func (p *SenderPool) sender(ctx context.Context, slot int) (backend.Sender, error) {
	p.mu.Lock()
	for len(p.senders) <= slot {
		p.senders = append(p.senders, nil)
	}
	s := p.senders[slot]
	p.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := p.backend.Open(ctx, slot, p.clock)
	if err != nil {
		return nil, fmt.Errorf("slot %d: %w", slot, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.senders[slot] = s
	return s, nil
}

// catchUp is how many openings may follow at once after an opening that was late. Timers
// are up to a millisecond late, and the rate of Open should not suffer from that. But the
// openings that a busy machine or a stopped process has missed are not made up for: so many
// at once would overflow the queue of the listener.
const catchUp = 4

// awaitTurn waits until Open may open the sender of a slot; false when ctx is done. A
// sender that is open already needs no turn.
//
// The turns are evenly spaced, but for catchUp: a connection counts as made when the kernel
// of the server has answered, and stays in the queue of the listener until the server
// accepts it. So the number of connections that are being made does not bound the queue,
// only their rate does.
func (p *SenderPool) awaitTurn(ctx context.Context, slot int) bool {
	p.mu.Lock()
	open := slot < len(p.senders) && p.senders[slot] != nil
	p.mu.Unlock()
	if p.every == 0 || open {
		return ctx.Err() == nil
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-p.turn }()
	if now := time.Now(); now.Sub(p.next) > catchUp*p.every {
		p.next = now
	}
	if !p.wait(p.next, ctx.Done()) {
		return false
	}
	p.next = p.next.Add(p.every)
	return true
}

// maxOpening is how many senders Open opens at a time: enough that slow handshakes
// overlap, few enough that a server that is overrun is not asked for more.
const maxOpening = 32

// Open opens the senders of the slots that a level needs at its start, maxOpening at a
// time and not faster than the rate of NewSenderPool. It returns when all opening has
// ended, with the first error or the error of ctx.
func (p *SenderPool) Open(ctx context.Context, slots int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64 // slot to open
	var opening sync.WaitGroup
	for range min(slots, maxOpening) {
		opening.Go(func() {
			for ctx.Err() == nil {
				slot := int(next.Add(1)) - 1
				if slot >= slots || !p.awaitTurn(ctx, slot) {
					return
				}
				if _, err := p.sender(ctx, slot); err != nil {
					cancel(err)
				}
			}
		})
	}
	opening.Wait()
	return context.Cause(ctx)
}

// InitialSlots returns how many slots should be open before the share of a level begins.
// A schedule opens more when it needs them.
func InitialSlots(level load.Level, share ranks.Share) int {
	n := share.Slots(level.Slots())
	if _, ok := level.(load.Open); !ok {
		return n
	}
	if n == 0 {
		return reserve(0)
	}
	return min(n, reserve(0))
}

// Close closes all senders. It ignores their errors, which say nothing about the data.
func (p *SenderPool) Close() {
	for _, s := range p.senders {
		if s != nil {
			_ = s.Close()
		}
	}
	p.senders = nil
}
