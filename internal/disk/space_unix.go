//go:build linux || darwin

package disk

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FreeSpace returns the free space of the file system that holds dir; ok is false where that
// is not known.
func FreeSpace(dir string) (s Space, ok bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Bsize <= 0 {
		return Space{}, false
	}
	s.Free = fs.Bavail * uint64(fs.Bsize)
	if fs.Fsid != (unix.Fsid{}) {
		s.FileSystem = fmt.Sprint(fs.Fsid.Val)
	}
	return s, true
}
