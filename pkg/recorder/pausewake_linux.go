package recorder

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// timerWaker is a waker with a timer of the kernel, whose file Go's poller watches. A timer of
// Go would wake several threads each time: the thread that waits for it, the scheduler's
// monitor, and a thread that looks for further work. In a process that does nothing else
// these are most of the costs.
type timerWaker struct {
	file    *os.File
	raw     syscall.RawConn // of file
	read    func(fd uintptr) bool
	stopped atomic.Bool
}

// newWaker returns a timerWaker, or a tickWaker if there can be none.
func newWaker(every time.Duration) waker {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTickWaker(every)
	}
	t := unix.NsecToTimespec(int64(every))
	err = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: t, Value: t}, nil)
	w := &timerWaker{file: os.NewFile(uintptr(fd), "timer")}
	if err == nil {
		err = w.file.SetReadDeadline(time.Time{}) // fails if the file is not in Go's poller
	}
	if err == nil {
		w.raw, err = w.file.SyscallConn()
	}
	if err != nil {
		_ = w.file.Close() // nothing was written
		return newTickWaker(every)
	}
	w.read = func(fd uintptr) bool {
		// The read does not wait, so the scheduler need not know of it: telling it would
		// wake its monitor.
		var expired [8]byte
		_, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&expired)), uintptr(len(expired)))
		return errno != unix.EAGAIN
	}
	return w
}

func (w *timerWaker) wait() bool { return w.raw.Read(w.read) == nil && !w.stopped.Load() }

func (w *timerWaker) stop() {
	w.stopped.Store(true)
	_ = w.file.Close() // ends wait; nothing was written
}
