package recorder

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A fleet is the senders of a run, by slot. It grows when a level needs more of
// them; what is there serves the next level too.
type fleet struct {
	backend backend.Backend

	mu      sync.Mutex
	senders []backend.Sender // nil: not there yet
}

// sender returns the sender of a slot, which it opens if there is none. Those of
// different slots can be asked for at a time.
func (f *fleet) sender(ctx context.Context, slot int) (backend.Sender, error) {
	f.mu.Lock()
	for len(f.senders) <= slot {
		f.senders = append(f.senders, nil)
	}
	s := f.senders[slot]
	f.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := f.backend.Open(ctx, slot)
	if err != nil {
		return nil, fmt.Errorf("slot %d: %w", slot, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.senders[slot] = s
	return s, nil
}

// maxOpening is how many senders grow opens at a time: enough that slow handshakes
// overlap, few enough that a server's listen queue takes them.
const maxOpening = 32

// grow opens the senders of the first n slots, maxOpening at a time. When all opening
// has ended, it returns the first error, or the error of ctx.
func (f *fleet) grow(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64 // slot to be opened
	var opening sync.WaitGroup
	for range min(n, maxOpening) {
		opening.Go(func() {
			for ctx.Err() == nil {
				slot := int(next.Add(1)) - 1
				if slot >= n {
					return
				}
				if _, err := f.sender(ctx, slot); err != nil {
					cancel(err)
				}
			}
		})
	}
	opening.Wait()
	return context.Cause(ctx)
}

// close ends the connections. Errors of a connection that is no longer wanted say
// nothing about the data.
func (f *fleet) close() {
	for _, s := range f.senders {
		if s != nil {
			_ = s.Close()
		}
	}
	f.senders = nil
}
