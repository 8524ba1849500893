package drive

import (
	"context"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// workers hands out the workers that send the requests of sessions, each with its open sender. It opens a worker when one
// is needed, and keeps some idle in reserve if reserve is set, because opening one may take long. Use newWorkers.
type workers struct {
	senders *SenderPool
	first   int                // number of the first worker
	reserve func(open int) int // how many workers should be idle when so many are open; nil: none
	ctx     context.Context    // of the senders
	ended   <-chan struct{}    // closed when no worker is needed any more
	opened  sync.WaitGroup     // of the goroutines that open workers
	mu      sync.Mutex         // guards the fields below
	limit   int                // workers that may be open
	idle    []worker           // the one that was used last is the last
	waiting []turn             // of requests that are due, the oldest first; each has room for a worker
	starter turn               // of a new session, which comes after all due requests
	n       int                // open workers
	opening int                // workers that are being opened
}

// A worker sends one request at a time. The zero value is none.
type worker struct {
	number int
	sender backend.Sender
}

// none reports whether there is no worker.
func (w worker) none() bool { return w.sender == nil }

// newWorkers returns workers with numbers from first on; limit of them may be open. ctx is done when no worker is needed any
// more.
func newWorkers(ctx context.Context, senders *SenderPool, first, limit int) *workers {
	return &workers{senders: senders, first: first, limit: limit, ctx: ctx, ended: ctx.Done()}
}

// keep keeps workers in reserve; before the first is taken.
func (w *workers) keep(reserve func(open int) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reserve = reserve
	w.grow()
}

// wait waits until no goroutine of w is left. Call it when ctx is done.
func (w *workers) wait() { w.opened.Wait() }

// A turn is the place of a request in the queue for a worker, which the channel brings.
type turn chan worker

// queue returns the turn of a request that is due.
func (w *workers) queue() turn {
	t := make(turn, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.idle) - 1; last >= 0 {
		t <- w.idle[last]
		w.idle = w.idle[:last]
	} else {
		w.waiting = append(w.waiting, t)
	}
	w.grow()
	return t
}

// await returns the worker that t brings. ok is false when the load ends first.
func (w *workers) await(t turn) (_ worker, ok bool) {
	select {
	case got := <-t:
		return got, true
	case <-w.ended:
		return worker{}, false
	}
}

// take returns a worker for a request that is due. waited says that none was idle. ok is false when the load ends first.
func (w *workers) take() (got worker, waited, ok bool) {
	w.mu.Lock()
	if last := len(w.idle) - 1; last >= 0 {
		got = w.idle[last]
		w.idle = w.idle[:last]
		w.grow()
		w.mu.Unlock()
		return got, false, true
	}
	w.mu.Unlock()
	got, ok = w.await(w.queue())
	return got, true, ok
}

// swap gives a worker to the request that has waited longest, and returns the turn of the caller's next request, which is due.
// If no request waits, the caller keeps the worker.
func (w *workers) swap(got worker) (_ worker, _ turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return got, nil
	}
	w.serve(got)
	t := make(turn, 1)
	w.waiting = append(w.waiting, t)
	return worker{}, t
}

// serve gives a worker to the request that has waited longest. The caller holds the lock.
func (w *workers) serve(got worker) {
	w.waiting[0] <- got // it has room
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
}

// takeIdle returns a worker for a new session when one is idle and no request waits for it; false when the load ends first.
// One goroutine calls it.
func (w *workers) takeIdle() (worker, bool) {
	w.mu.Lock()
	if last := len(w.idle) - 1; last >= 0 {
		got := w.idle[last]
		w.idle = w.idle[:last]
		w.mu.Unlock()
		return got, true
	}
	t := make(turn, 1)
	w.starter = t
	w.grow()
	w.mu.Unlock()
	return w.await(t)
}

// give takes a worker back.
func (w *workers) give(got worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.waiting) > 0:
		w.serve(got)
	case w.starter != nil:
		w.starter <- got // it has room
		w.starter = nil
	default:
		w.idle = append(w.idle, got)
	}
}

// allow lets n workers be open.
func (w *workers) allow(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = n
	w.grow()
}

// grow starts opening workers for those who wait and for the reserve. The caller holds the lock.
func (w *workers) grow() {
	wanted := len(w.waiting)
	if w.starter != nil {
		wanted++
	}
	if w.reserve != nil {
		wanted += w.reserve(w.n)
	}
	for len(w.idle)+w.opening < wanted && w.n+w.opening < w.limit && !load.IsClosed(w.ended) {
		number := w.first + w.n + w.opening
		w.opening++
		w.opened.Go(func() { w.open(number) })
	}
}

// open opens a worker. It retries until the sender opens or the load ends.
func (w *workers) open(number int) {
	for failures := 1; ; failures++ {
		sender, err := w.senders.sender(w.ctx, number)
		if err == nil {
			w.mu.Lock()
			w.opening--
			w.n++
			w.mu.Unlock()
			w.give(worker{number, sender})
			return
		}
		if !load.WaitTimer(time.Now().Add(backoffTime(failures+1)), w.ended) {
			w.mu.Lock()
			w.opening--
			w.mu.Unlock()
			return
		}
	}
}

// used returns how many workers are open.
func (w *workers) used() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}
