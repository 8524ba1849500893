//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of a file and reports whether nobody else had it. It
// is released when the file is closed, however the process ends. File systems
// without locks count as nobody having it.
func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}
