package drive

import (
	"container/heap"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// instants lets many goroutines wait for instants. One goroutine at a time waits exactly: that takes a thread from Go's scheduler for up
// to two milliseconds, and several such waits would keep all its threads from other work. The zero value is ready.
type instants struct {
	mu      sync.Mutex // guards the fields below
	leading bool       // a goroutine waits exactly
	leads   time.Time  // its instant
	others  instantHeap
}

// exact is how long before an instant a goroutine begins to wait exactly, if it is its turn.
const exact = 2 * time.Millisecond

// wait waits for an instant as exactly does, which is [load.Wait] or its replacement: false if done is closed first, and near is
// called shortly before.
func (q *instants) wait(until time.Time, done <-chan struct{}, near func(), exactly func(time.Time, <-chan struct{}, func()) bool) bool {
	if !load.WaitTimer(until.Add(-exact), done) {
		return false
	}
	leads := q.lead(until, done)
	ok := exactly(until, done, func() {
		if leads {
			leads = false
			q.pass()
		}
		if near != nil {
			near()
		}
	})
	if leads {
		q.pass()
	}
	return ok
}

// lead returns when the caller may wait exactly: when no other goroutine does, or its instant is before that one's, or done is
// closed. leads says that the caller must call pass.
func (q *instants) lead(until time.Time, done <-chan struct{}) (leads bool) {
	q.mu.Lock()
	switch {
	case !q.leading:
		q.leading, q.leads = true, until
		q.mu.Unlock()
		return true
	case until.Before(q.leads):
		q.mu.Unlock()
		return false
	}
	own := &instant{until: until, turn: make(chan struct{})}
	heap.Push(&q.others, own)
	q.mu.Unlock()
	select {
	case <-own.turn:
		return true
	case <-done:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if own.index < 0 {
		return true // its turn came meanwhile
	}
	heap.Remove(&q.others, own.index)
	return false
}

// pass makes the goroutine with the next instant wait exactly.
func (q *instants) pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.others) == 0 {
		q.leading = false
		return
	}
	next := heap.Pop(&q.others).(*instant)
	q.leads = next.until
	close(next.turn)
}

// An instant is what a goroutine waits for that does not wait exactly yet.
type instant struct {
	until time.Time
	turn  chan struct{} // closed when the goroutine may wait exactly
	index int           // in the heap; −1: not there
}

// instantHeap is a heap.Interface with the next instant first.
type instantHeap []*instant

func (h instantHeap) Len() int           { return len(h) }
func (h instantHeap) Less(i, j int) bool { return h[i].until.Before(h[j].until) }

func (h instantHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *instantHeap) Push(x any) {
	x.(*instant).index = len(*h)
	*h = append(*h, x.(*instant))
}

func (h *instantHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	x.index = -1
	return x
}
