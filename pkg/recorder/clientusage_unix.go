//go:build linux || darwin

package recorder

import (
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func readUsage() (u usage, ok bool) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return usage{}, false
	}
	u = usage{user: time.Duration(r.Utime.Nano()), system: time.Duration(r.Stime.Nano())}
	u.maxRSS = int64(r.Maxrss) //nolint:unconvert // 32 bits on systems of 32 bits
	if runtime.GOOS == "linux" {
		u.maxRSS <<= 10 // in KiB there
	}
	return u, true
}

// readFDs returns the number of open descriptors and their limit. It does not count the
// descriptor that it opens itself.
func readFDs() (open int, limit uint64, ok bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, 0, false
	}
	dir := "/proc/self/fd"
	if runtime.GOOS != "linux" {
		dir = "/dev/fd"
	}
	d, err := os.Open(dir)
	if errors.Is(err, unix.EMFILE) { // all descriptors are in use
		return int(r.Cur), r.Cur, true
	}
	if err != nil {
		return 0, 0, false
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil || len(names) == 0 {
		return 0, 0, false
	}
	return len(names) - 1, r.Cur, true
}
