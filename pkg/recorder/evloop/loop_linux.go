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
	readBytes   = 64 << 10 // of the buffer that a loop's connections share
	eventsAtAll = 256      // that one epoll_wait returns at most
)

// A loop is a goroutine that reads and writes.
//
// Its connections are in one of two epoll instances: those that are read at
// once in eager, the others in lazy. Eager holds lazy, too, so that waiting for
// eager is waiting for all; but while readiness gathers it does not, and lazy is
// looked at when it was not for as long as the gathering may take.
//
// The goroutine waits for eager in Go's poller, which can wait for an epoll
// instance as for anything else. With a thread of its own that waits in the
// kernel, the scheduler's monitor would wake up as often to see whether it still
// waits: at 512 streams of 50 events a second that made a tenth of the process's
// CPU time.
type loop struct {
	eager, lazy int      // file descriptors
	file        *os.File // owns eager
	pollFD      func(uintptr) bool
	raw         syscall.RawConn // of file

	gather    gather
	gathering bool      // lazy is not in eager
	deadline  time.Time // of file; zero: none
	looked    time.Time // at lazy

	live atomic.Int32 // connections

	mu     sync.Mutex // guards what follows
	slots  []slot
	free   []int32 // of slots
	closed bool

	done   chan struct{} // closed when run returns
	buf    []byte
	events []unix.EpollEvent
	n      int     // events at hand
	ready  []*Conn // of the events at hand
}

// A slot is where an event finds its connection: it names the slot and its
// generation. When a connection is closed, events of it may be at hand, and its
// file descriptor and slot may belong to another before they are looked at.
type slot struct {
	conn *Conn
	gen  int32
}

// lazySlot is the slot of lazy in eager.
const lazySlot = -1

func newLoop(gatherFor time.Duration) (l *loop, err error) {
	l = &loop{
		lazy:   -1,
		gather: gather{span: gatherFor},
		done:   make(chan struct{}),
		buf:    make([]byte, readBytes),
		events: make([]unix.EpollEvent, eventsAtAll),
		ready:  make([]*Conn, eventsAtAll),
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

// control is epoll_ctl, which does not wait.
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

// remove forgets a connection, whose file descriptor is then closed.
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
		if lazyReady || l.gathering && (l.n == 0 || now.Sub(l.looked) >= l.gather.span) { // l.n is 0 at the deadline
			l.looked = now
			for n := len(l.events); n == len(l.events); {
				n = poll(l.lazy, l.events)
				more, _ := l.handle(l.events[:n])
				served += more
			}
		}
		if l.gather.span > 0 {
			l.plan(served, now)
		}
	}
}

// wait waits until there are events in eager, or the time is over for which
// readiness gathers. It returns false when the loop is closed.
func (l *loop) wait() bool {
	var deadline time.Time
	if l.gathering {
		deadline = l.looked.Add(l.gather.span)
	}
	if !deadline.Equal(l.deadline) {
		l.deadline = deadline
		if l.file.SetReadDeadline(deadline) != nil {
			return false // it is closed
		}
	}
	if l.isClosed() { // asked after the deadline was set; see close
		return false
	}
	l.n = 0
	err := l.raw.Read(l.pollFD)
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// plan decides whether readiness is to gather.
func (l *loop) plan(served int, now time.Time) {
	on := l.gather.more(served, now)
	if on == l.gathering {
		return
	}
	op := unix.EPOLL_CTL_ADD
	if on {
		op = unix.EPOLL_CTL_DEL
	}
	// It is not there when it is added, and there when it is deleted. If that
	// fails nevertheless, things stay as they are.
	if control(l.eager, op, l.lazy, unix.EPOLLIN, lazySlot, 0) == nil {
		l.gathering = on
	}
}

// poll is epoll_wait without waiting.
func poll(ep int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// handle serves the connections that events are about; served is how many.
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
	// Whatever deadline the loop sets after this, it then sees that it is
	// closed.
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
