package evloop

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/sockstamp"
)

const (
	readBytes = 64 << 10 // size of the buffer that a loop's connections share
	maxEvents = 256      // most events that one epoll_wait returns
)

// A loop is a goroutine that reads from connections and writes to them.
//
// Each connection is in one of two epoll instances: in eager if it is read at once, else
// in lazy. Eager usually contains lazy, so that the loop waits for both. While readiness
// gathers, it does not; the loop then polls lazy once in each gathering time.
//
// The goroutine waits for eager in Go's poller, which can wait for an epoll instance. If
// it waited in the kernel on its own thread, the scheduler's monitor would wake up as
// often to check the thread: at 512 streams of 50 events a second that took a tenth of the
// process's CPU time.
type loop struct {
	eager, lazy int      // file descriptors
	file        *os.File // owns eager
	pollFD      func(uintptr) bool
	raw         syscall.RawConn // of file

	gather    gather
	gathering bool      // lazy is not in eager
	deadline  time.Time // read deadline of file; zero: none
	polled    time.Time // last poll of lazy

	live atomic.Int32 // number of connections

	mu     sync.Mutex // guards the fields below up to closed
	slots  []slot
	free   []int32 // indices of free slots
	closed bool

	done   chan struct{} // closed when run returns
	buf    []byte
	events []unix.EpollEvent
	n      int     // number of present events
	ready  []*Conn // connections of the present events
}

// A slot holds the connection of events, which carry the index and the generation of the
// slot. After a connection is closed, its file descriptor and slot may be used again while
// events of the old connection still wait; their generation differs.
type slot struct {
	conn *Conn
	gen  int32
}

// lazySlot is the slot of lazy in eager.
const lazySlot = -1

func newLoop() (l *loop, err error) {
	l = &loop{
		lazy:   -1,
		gather: gather{span: gatherTime},
		done:   make(chan struct{}),
		buf:    make([]byte, readBytes),
		events: make([]unix.EpollEvent, maxEvents),
		ready:  make([]*Conn, maxEvents),
	}
	l.pollFD = func(uintptr) bool {
		l.n = poll(l.eager, l.events)
		return l.n > 0
	}
	if l.eager, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	err = unix.SetNonblock(l.eager, true) // for NewFile
	l.file = os.NewFile(uintptr(l.eager), "epoll")
	defer func() {
		if err != nil {
			err = errors.Join(err, l.release())
		}
	}()
	if err != nil {
		return nil, err
	}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		return nil, err
	}
	if err = l.file.SetReadDeadline(time.Time{}); err != nil {
		return nil, err // it is not in Go's poller
	}
	if l.lazy, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	return l, control(l.eager, unix.EPOLL_CTL_ADD, l.lazy, unix.EPOLLIN, lazySlot, 0)
}

// release closes the loop's own file descriptors.
func (l *loop) release() error {
	err := l.file.Close()
	if l.lazy >= 0 {
		err = errors.Join(err, unix.Close(l.lazy))
	}
	return err
}

// control calls epoll_ctl, which does not wait.
func control(ep, op, fd int, events uint32, slot, gen int32) error {
	ev := unix.EpollEvent{Events: events, Fd: slot, Pad: gen}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(ep), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&ev)), 0, 0)
	if errno != 0 {
		return fmt.Errorf("epoll_ctl: %w", errno)
	}
	return nil
}

// add makes fd a connection of the loop.
func (l *loop) add(fd int, stamps sockstamp.Options) (*Conn, error) {
	c := &Conn{l: l, fd: fd, sock: stamps.Socket(fd)}
	c.stamped, _, _ = c.sock.Stamps()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if len(l.free) == 0 {
		l.free = append(l.free, int32(len(l.slots)))
		l.slots = append(l.slots, slot{})
	}
	last := len(l.free) - 1
	c.slot = l.free[last]
	s := &l.slots[c.slot]
	c.gen = s.gen
	if err := control(l.eager, unix.EPOLL_CTL_ADD, fd, readEvents, c.slot, c.gen); err != nil {
		return nil, err
	}
	s.conn = c
	l.free = l.free[:last]
	l.live.Add(1)
	return c, nil
}

// remove frees the slot of a connection. The caller then closes its file descriptor.
func (l *loop) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots[c.slot] = slot{gen: c.gen + 1}
	l.free = append(l.free, c.slot)
	l.live.Add(-1)
}

// run is the loop's goroutine. close ends it.
func (l *loop) run() {
	defer close(l.done)
	for l.wait() {
		served, lazyReady := l.handle(l.events[:l.n])
		now := time.Now()
		if lazyReady || l.gathering && (l.n == 0 || now.Sub(l.polled) >= l.gather.span) { // l.n is 0 at the deadline
			l.polled = now
			for n := len(l.events); n == len(l.events); {
				n = poll(l.lazy, l.events)
				more, _ := l.handle(l.events[:n])
				served += more
			}
		}
		l.plan(served, now)
	}
}

// wait waits for events in eager, at most until the gathering time is over. It returns
// false when the loop is closed.
func (l *loop) wait() bool {
	var deadline time.Time
	if l.gathering {
		deadline = l.polled.Add(l.gather.span)
	}
	if !deadline.Equal(l.deadline) {
		l.deadline = deadline
		if l.file.SetReadDeadline(deadline) != nil {
			return false // the file is closed
		}
	}
	if l.isClosed() { // after the deadline was set; see close
		return false
	}
	l.n = 0
	err := l.raw.Read(l.pollFD)
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// plan turns gathering on or off.
func (l *loop) plan(served int, now time.Time) {
	on := l.gather.update(served, now)
	if on == l.gathering {
		return
	}
	op := unix.EPOLL_CTL_ADD
	if on {
		op = unix.EPOLL_CTL_DEL
	}
	// If epoll_ctl fails, the state does not change.
	if control(l.eager, op, l.lazy, unix.EPOLLIN, lazySlot, 0) == nil {
		l.gathering = on
	}
}

// poll calls epoll_wait without waiting.
func poll(ep int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// handle handles the events of connections and returns their number.
func (l *loop) handle(events []unix.EpollEvent) (served int, lazyReady bool) {
	l.mu.Lock()
	for i, ev := range events {
		if ev.Fd == lazySlot {
			lazyReady = true
		} else if s := l.slots[ev.Fd]; s.gen == ev.Pad {
			l.ready[i] = s.conn
		}
	}
	l.mu.Unlock()
	for i, ev := range events {
		if c := l.ready[i]; c != nil {
			l.ready[i] = nil
			c.handle(ev.Events, l.buf)
			served++
		}
	}
	return served, lazyReady
}

func (l *loop) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// close ends the loop.
func (l *loop) close() error {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if was {
		<-l.done
		return nil
	}
	// If the loop replaces this deadline, it sees afterwards that it is closed.
	if err := l.file.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return fmt.Errorf("wake an event loop: %w", err)
	}
	<-l.done
	l.mu.Lock()
	var left []*Conn
	for _, s := range l.slots {
		if s.conn != nil {
			left = append(left, s.conn)
		}
	}
	l.mu.Unlock()
	for _, c := range left {
		c.mu.Lock()
		c.fail(ErrClosed)
		c.mu.Unlock()
	}
	return l.release()
}
