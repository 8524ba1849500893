package drive

import (
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// Queue takes finished exchanges from the slots to the collector. Put never waits. The
// queue is unbounded: the collector ends the run when too many Bytes wait.
type Queue struct {
	mu    sync.Mutex
	items []*backend.Exchange
	bytes int64 // of exchanges that were put and are not done
	// ready has room for one signal, so that a put never blocks and the collector is
	// woken once for several puts.
	ready chan struct{}
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{ready: make(chan struct{}, 1)} }

// Ready returns a channel that has a value when exchanges were put since Take.
func (q *Queue) Ready() <-chan struct{} { return q.ready }

// Put appends x, which then belongs to the collector.
func (q *Queue) Put(x *backend.Exchange) {
	size := exchangeBytes(x)
	q.mu.Lock()
	q.items = append(q.items, x)
	q.bytes += size
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Take returns all exchanges, oldest first. It reuses the memory of spare.
func (q *Queue) Take(spare []*backend.Exchange) []*backend.Exchange {
	clear(spare)
	q.mu.Lock()
	items := q.items
	q.items = spare[:0]
	q.mu.Unlock()
	return items
}

// Done stops counting the memory of an exchange that was taken.
func (q *Queue) Done(x *backend.Exchange) { q.release(exchangeBytes(x)) }

// Cut cuts the responses of an exchange that was taken (see backend.Exchange.Cut) and
// stops counting their memory.
func (q *Queue) Cut(x *backend.Exchange) {
	before := exchangeBytes(x)
	x.Cut()
	q.release(before - exchangeBytes(x))
}

func (q *Queue) release(size int64) {
	q.mu.Lock()
	q.bytes -= size
	q.mu.Unlock()
}

// Bytes returns the approximate memory of the exchanges that were put and are not
// done.
func (q *Queue) Bytes() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// exchangeBytes returns the approximate memory of x until it is decoded. Decoding does
// not change it.
func exchangeBytes(x *backend.Exchange) int64 {
	const response = 64 // a Response, and the memory into which Responses grows
	return 1024 + response*int64(len(x.Request.Responses)) + x.RawBytes()
}
