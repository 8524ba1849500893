//go:build unix

package recorder

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// continues counts the SIGCONT signals of this process. The channel has room for one
// signal; continued empties it, so no goroutine has to wait for signals.
var continues = struct {
	mu     sync.Mutex
	signal chan os.Signal
	n      uint64
}{signal: make(chan os.Signal, 1)}

// SIGCONT continues a process whether it is handled or not, so the handler changes
// nothing for a program that imports this package and records nothing.
//
// The handler is installed here and not by startPauseWatch, which may run in a bubble of
// testing/synctest. The first Notify of a process starts goroutines; started in a
// bubble, they end the process (Go 1.26: "fatal error: select on synctest channel from
// outside bubble").
func init() { signal.Notify(continues.signal, syscall.SIGCONT) }

// continued returns the number of SIGCONT signals so far; several between two calls
// may count as one.
func continued() uint64 {
	continues.mu.Lock()
	defer continues.mu.Unlock()
	select {
	case <-continues.signal:
		continues.n++
	default:
	}
	return continues.n
}
