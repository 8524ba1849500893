//go:build unix

package testenv

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of this process so far, user and system.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // this process is there
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
