package recorder

import (
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A mailbox hands finished exchanges from the slots to the collector. Putting
// never waits. It is bounded by the collector, which ends the run when more
// than maxMailboxBytes wait: see relieve.
type mailbox struct {
	mu    sync.Mutex
	items []*backend.Exchange
	bytes int64 // put and not done
	// ready has room for one signal, so that a put never blocks and a taker
	// that missed several puts is woken once.
	ready chan struct{}
}

func newMailbox() *mailbox {
	return &mailbox{ready: make(chan struct{}, 1)}
}

func (m *mailbox) put(x *backend.Exchange) {
	size := exchangeBytes(x)
	m.mu.Lock()
	m.items = append(m.items, x)
	m.bytes += size
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

// done says that an exchange that was taken is dealt with.
func (m *mailbox) done(x *backend.Exchange) { m.less(exchangeBytes(x)) }

// less says that exchanges that were put take so many bytes less.
func (m *mailbox) less(size int64) {
	m.mu.Lock()
	m.bytes -= size
	m.mu.Unlock()
}

// waiting returns the bytes of the exchanges that were put and are not done.
func (m *mailbox) waiting() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// exchangeBytes returns about what x takes in memory until it is decoded. It
// does not change by decoding.
func exchangeBytes(x *backend.Exchange) int64 {
	const response = 128 // a Response, its slice of Raw, its output
	n := int64(1024) + response*int64(len(x.Raw))
	for _, raw := range x.Raw {
		n += int64(len(raw))
	}
	return n
}
