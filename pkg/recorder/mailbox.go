package recorder

import (
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A mailbox hands finished exchanges from the slots to the collector. Putting
// never waits: it is bounded only by what the slots produce while the
// collector writes.
type mailbox struct {
	mu    sync.Mutex
	items []*backend.Exchange
	// ready has room for one signal, so that a put never blocks and a taker
	// that missed several puts is woken once.
	ready chan struct{}
}

func newMailbox() *mailbox {
	return &mailbox{ready: make(chan struct{}, 1)}
}

func (m *mailbox) put(x *backend.Exchange) {
	m.mu.Lock()
	m.items = append(m.items, x)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take returns all items, oldest first. spare's memory is reused for the next
// ones.
func (m *mailbox) take(spare []*backend.Exchange) []*backend.Exchange {
	clear(spare)
	m.mu.Lock()
	items := m.items
	m.items = spare[:0]
	m.mu.Unlock()
	return items
}
