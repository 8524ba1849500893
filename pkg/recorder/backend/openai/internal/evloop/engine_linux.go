package evloop

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// errClosed ends the connections of a closed Engine.
var errClosed = errors.New("the event loop is closed")

// An Engine runs loops. Use New.
type Engine struct {
	loops     []*loop
	detaching sync.Mutex // see detach
}

// New starts an engine with one loop for every four whole CPUs, at least one and at most
// eight. Close ends its goroutines.
func New() (*Engine, error) { return start(defaultLoops(runtime.GOMAXPROCS(0))) }

// start starts an engine with n loops.
func start(n int) (*Engine, error) {
	e := &Engine{}
	for range n {
		l, err := newLoop()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start an event loop: %w", err), e.Close())
		}
		e.loops = append(e.loops, l)
		go l.run()
	}
	return e, nil
}

func defaultLoops(cpus int) int {
	const perLoop, most = 4, 8
	return min(max(1, cpus/perLoop), most)
}

// Add takes over a connection to which nothing was written. It closes tc in any case; the
// socket lives on outside of Go's poller. The error may be errClosed.
func (e *Engine) Add(tc *net.TCPConn, stamps sockstamp.Options) (*Conn, error) {
	fd, err := e.detach(tc)
	if err != nil {
		return nil, err
	}
	least := e.loops[0]
	for _, l := range e.loops[1:] {
		if l.live.Load() < least.live.Load() {
			least = l
		}
	}
	c, err := least.add(fd, stamps)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return c, nil
}

// detach returns a file descriptor of tc's non-blocking socket and closes tc. It needs two
// descriptors for a moment. The lock lets only one connection at a time need its second
// one, in case descriptors are scarce.
func (e *Engine) detach(tc *net.TCPConn) (fd int, err error) {
	e.detaching.Lock()
	defer e.detaching.Unlock()
	defer func() {
		if cerr := tc.Close(); err == nil && cerr != nil {
			err = errors.Join(cerr, unix.Close(fd))
		}
	}()
	rc, err := tc.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	if err := rc.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, err
	}
	return fd, os.NewSyscallError("fcntl", dupErr)
}

// Close ends the loops and returns when they have ended. It calls Closed(errClosed) for
// connections that are open; their owners must close them.
func (e *Engine) Close() error {
	var errs []error
	for _, l := range e.loops {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
