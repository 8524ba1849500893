package drive

import (
	"runtime"
	"sync"
)

// callsPerWait is the number of calls that one wait for the poller lets through. The work of
// that many callers takes a small part of the time between two tokens of a stream.
const callsPerWait = 4

// A Yielder keeps work that can wait, such as decoding an answer and sending the next request,
// behind the connections that have bytes to read. Its methods may be called from any goroutine.
// The zero value and nil only call [runtime.Gosched].
//
// Go's scheduler asks the kernel which connections are ready only when no goroutine is left to
// run, or after 10 ms. When a thousand answers end at once, the goroutines that send and decode
// would keep it from asking for longer than the time between two tokens of a stream. So callers
// of Yield go one after the other, and every fourth waits for a file that Go's poller watches. It
// makes the file ready, and the kernel reports ready files in the order in which they became
// ready: first all connections that had bytes when the caller's turn came.
type Yielder struct {
	turn  sync.Mutex // held by the caller whose turn it is; guards the fields below
	free  int        // number of next calls that need not wait
	queue pollerQueue
}

// NewYielder returns a Yielder. Close frees its file.
func NewYielder() *Yielder {
	y := &Yielder{}
	y.queue.open()
	return y
}

// Yield returns when the connections that had bytes to read were given a thread, but for the few
// calls between two waits, which return at once.
func (y *Yielder) Yield() {
	if y == nil {
		runtime.Gosched()
		return
	}
	y.turn.Lock()
	defer y.turn.Unlock()
	if y.free > 0 {
		y.free--
		return
	}
	y.queue.pass()
	y.free = callsPerWait - 1
	// The scheduler may run the last reported goroutine first. The others are in the queue
	// of its thread, and Gosched puts the caller behind them.
	runtime.Gosched()
}

// Close frees the file. Nobody may yield any more.
func (y *Yielder) Close() { y.queue.close() }
