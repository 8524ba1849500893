package drive

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A pollerQueue is a place in the order in which Go's poller reports files.
type pollerQueue struct {
	// file is an eventfd; nil: pass does nothing. The poller reports it once for each write. It is
	// never read: a read is reported as well, as room for a write, and the next pass would keep the
	// place of that report.
	file   *os.File
	raw    syscall.RawConn
	ready  bool // the file was made ready in this pass
	attend func(fd uintptr) bool
}

// open opens the file. Without it pass does nothing.
func (q *pollerQueue) open() {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return
	}
	file := os.NewFile(uintptr(fd), "eventfd")
	raw, err := file.SyscallConn()
	if err != nil || file.SetReadDeadline(time.Time{}) != nil { // fails if the file is not in Go's poller
		_ = file.Close() // nothing was written
		return
	}
	q.file, q.raw = file, raw
	q.attend = func(fd uintptr) bool {
		if q.ready {
			return true
		}
		q.ready = true
		// The call does not wait, so the scheduler need not know of it.
		one := uint64(1)
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one))
		return errno != 0 // then the poller will not report the file
	}
}

// pass returns when Go's poller has reported the files that were ready when pass was called.
// One goroutine at a time may call it.
func (q *pollerQueue) pass() {
	if q.file == nil {
		return
	}
	q.ready = false
	_ = q.raw.Read(q.attend) // fails if it is closed: there is nothing to wait for
}

func (q *pollerQueue) close() {
	if q.file != nil {
		_ = q.file.Close() // nothing is lost
	}
}
