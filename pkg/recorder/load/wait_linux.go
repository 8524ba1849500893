package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep sleeps in the kernel, some microseconds too long. A signal may end it early. The
// kernel delays the wake-ups of a thread by up to its timer slack, by default 50 µs.
func sleep(d time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, sleep takes longer
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
