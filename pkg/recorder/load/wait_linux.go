package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep waits in the kernel, some microseconds too long. A signal may end it
// early. The kernel gathers the wake-ups of a thread within its slack, 50 µs
// unless it is told otherwise.
func sleep(d time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // where it cannot be had, it is later
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
