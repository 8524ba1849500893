package drive

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/world"
)

// SenderPool opens one sender per slot on first use and keeps it for later levels.
// Use NewSenderPool.
type SenderPool struct {
	backend backend.Backend

	mu      sync.Mutex
	senders []backend.Sender // by slot; nil: not open
}

// NewSenderPool returns a pool without senders.
func NewSenderPool(b backend.Backend) *SenderPool { return &SenderPool{backend: b} }

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
	s, err := p.backend.Open(ctx, slot)
	if err != nil {
		return nil, fmt.Errorf("slot %d: %w", slot, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.senders[slot] = s
	return s, nil
}

// maxOpening is how many senders Open opens at a time: enough that slow handshakes
// overlap, few enough for a server's listen queue.
const maxOpening = 32

// Open opens the senders of the slots that a level needs at its start, maxOpening at a
// time. It returns when all opening has ended, with the first error or the error of
// ctx.
func (p *SenderPool) Open(ctx context.Context, slots int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64 // slot to open
	var opening sync.WaitGroup
	for range min(slots, maxOpening) {
		opening.Go(func() {
			for ctx.Err() == nil {
				slot := int(next.Add(1)) - 1
				if slot >= slots {
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
func InitialSlots(level load.Level, share world.Share) int {
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
