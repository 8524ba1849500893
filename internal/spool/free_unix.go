//go:build linux || darwin

package spool

import "golang.org/x/sys/unix"

// freeBytes returns the free space of the file system that holds dir; ok is false
// where that is not known.
func freeBytes(dir string) (free uint64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Bsize <= 0 {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
