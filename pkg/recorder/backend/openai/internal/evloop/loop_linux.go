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
// gathers, it does not; the loop then polls lazy whenever its timer, which eager contains,
// expires.
//
// The timer is the kernel's and not Go's. Each expiry of a timer of Go wakes the thread
// that waits for it, the scheduler's monitor, and a thread that looks for further work:
// two to five switches of context where one suffices.
//
// The goroutine waits for eager in Go's poller, which can wait for an epoll instance. If
// it waited in the kernel on its own thread, the scheduler's monitor would wake up as
// often to check the thread: at 512 streams of 50 events a second that took a tenth of the
// process's CPU time.
type loop struct {
	eager, lazy, timer int      // file descriptors
	file               *os.File // owns eager
	pollFD             func(uintptr) bool
	raw                syscall.RawConn // of file

	gather gather
	// span is the gathering time, after which timer expires again and again. 0: readiness
	// does not gather, and lazy is in eager.
	span    time.Duration
	expired uint64 // expiries of timer before it was last read

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

// lazySlot and timerSlot are the slots of lazy and of timer in eager.
const (
	lazySlot  = -1
	timerSlot = -2
)

func newLoop() (l *loop, err error) {
	l = &loop{
		lazy:   -1,
		timer:  -1,
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
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	if err = control(l.eager, unix.EPOLL_CTL_ADD, l.timer, unix.EPOLLIN, timerSlot, 0); err != nil {
		return nil, err
	}
	return l, control(l.eager, unix.EPOLL_CTL_ADD, l.lazy, unix.EPOLLIN, lazySlot, 0)
}

// release closes the loop's own file descriptors.
func (l *loop) release() error {
	err := l.file.Close()
	for _, fd := range []int{l.lazy, l.timer} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
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
		return nil, errClosed
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
		served, pollLazy := l.handle(l.events[:l.n])
		if pollLazy {
			for n := len(l.events); n == len(l.events); {
				n = poll(l.lazy, l.events)
				more, _ := l.handle(l.events[:n])
				served += more
			}
		}
		l.plan(served, time.Now())
	}
}

// wait waits for events in eager. It returns false when the loop is closed.
func (l *loop) wait() bool {
	l.n = 0
	return l.raw.Read(l.pollFD) == nil
}

// plan sets the gathering time.
func (l *loop) plan(served int, now time.Time) {
	span := l.gather.update(served, now)
	if span == l.span || setTimer(l.timer, span) != nil {
		return
	}
	if (span > 0) != (l.span > 0) {
		op := unix.EPOLL_CTL_ADD
		if span > 0 {
			op = unix.EPOLL_CTL_DEL
		}
		if control(l.eager, op, l.lazy, unix.EPOLLIN, lazySlot, 0) != nil {
			return // as before, and the timer does no harm
		}
	}
	l.span = span
}

// setTimer makes a timer expire every span; with 0 it never does. The call does not wait.
func setTimer(fd int, span time.Duration) error {
	t := unix.NsecToTimespec(int64(span))
	spec := unix.ItimerSpec{Interval: t, Value: t}
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("timerfd_settime: %w", errno)
	}
	return nil
}

// rewind makes the timer, which has expired, expire again after the gathering time: the
// kernel starts it anew when its expiries are read.
func (l *loop) rewind() {
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(l.timer), uintptr(unsafe.Pointer(&l.expired)), unsafe.Sizeof(l.expired))
}

// poll calls epoll_wait without waiting.
func poll(ep int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// handle handles the events of connections and returns their number. pollLazy says that
// lazy has events, or that it is time to look.
func (l *loop) handle(events []unix.EpollEvent) (served int, pollLazy bool) {
	l.mu.Lock()
	for i, ev := range events {
		if ev.Fd == lazySlot || ev.Fd == timerSlot {
			pollLazy = true
			if ev.Fd == timerSlot {
				l.rewind()
			}
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
	return served, pollLazy
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
		c.fail(errClosed)
		c.mu.Unlock()
	}
	return l.release()
}
