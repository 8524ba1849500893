package recorder

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineAsleep returns how long the machine has been suspended since it was started:
// CLOCK_BOOTTIME − CLOCK_MONOTONIC.
//
// The thread may lose its processor between the two readings, which would look like
// a suspension. So machineAsleep reads the monotonic clock before and after the other
// clock, and takes the try with the least time between.
func machineAsleep() time.Duration {
	const tries, close = 8, 100 * time.Microsecond
	least, best := time.Duration(1<<63-1), time.Duration(0)
	for range tries {
		before := readClock(unix.CLOCK_MONOTONIC)
		boot := readClock(unix.CLOCK_BOOTTIME)
		apart := readClock(unix.CLOCK_MONOTONIC) - before
		if apart < least {
			least, best = apart, boot-before-apart/2
		}
		if apart <= close {
			break
		}
	}
	return best
}

// readClock does not inform Go's scheduler of the system call, which would wake the
// scheduler's monitor; the call does not wait.
func readClock(clock int32) time.Duration {
	var t unix.Timespec
	if _, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0 // both clocks are there since Linux 2.6.39
	}
	return time.Duration(t.Nano())
}
