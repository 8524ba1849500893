package drive

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// calmTime is the time without a call of Yield after which a call returns at once.
const calmTime = time.Millisecond

// A Yielder keeps work that can wait, such as decoding an answer and sending the next request,
// behind the connections that have bytes to read. Its methods may be called from any goroutine.
// The zero value and nil only call [runtime.Gosched].
//
// Go's scheduler asks the kernel which connections are ready only when no goroutine is left to
// run, or after 10 ms. When a thousand answers end at once, the goroutines that send and decode
// would keep it from asking for longer than the time between two tokens of a stream. So callers
// of Yield wait, one after the other, for a file that Go's poller watches. The caller makes the
// file ready, and the kernel reports ready files in the order in which they became ready: first
// all connections that had bytes when the caller's turn came.
type Yielder struct {
	began time.Time
	last  atomic.Int64 // when Yield was last called, since began
	turn  sync.Mutex   // held by the caller whose turn it is; guards queue
	queue pollerQueue
}

// NewYielder returns a Yielder. Close frees its file.
func NewYielder() *Yielder {
	y := &Yielder{began: time.Now()}
	y.last.Store(-int64(calmTime))
	y.queue.open()
	return y
}

// Yield returns when the connections that had bytes to read were given a thread. It returns at
// once if nobody has yielded for a millisecond.
func (y *Yielder) Yield() {
	if y == nil || y.began.IsZero() {
		runtime.Gosched()
		return
	}
	now := int64(time.Since(y.began))
	if now-y.last.Swap(now) >= int64(calmTime) {
		return
	}
	y.turn.Lock()
	defer y.turn.Unlock()
	y.queue.pass()
	// The scheduler may run the last reported goroutine first. The others are in the queue
	// of its thread, and Gosched puts the caller behind them.
	runtime.Gosched()
}

// Close frees the file. Nobody may yield any more.
func (y *Yielder) Close() { y.queue.close() }
