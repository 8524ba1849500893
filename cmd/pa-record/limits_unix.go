//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// fileLimit returns the number of files that the process may open; ok is false if it is
// unknown. Package syscall has raised the soft limit to the hard one.
func fileLimit() (n uint64, ok bool) {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0, false
	}
	return uint64(l.Cur), true //nolint:unconvert // it is signed on FreeBSD
}

// ignoreFileSizeSignal makes a write beyond the limit on file sizes (ulimit -f)
// an error of that write instead of the end of the process.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
