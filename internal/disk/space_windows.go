package disk

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// FreeSpace returns the free space of the file system that holds dir; ok is false where that
// is not known.
func FreeSpace(dir string) (s Space, ok bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return Space{}, false
	}
	if err := windows.GetDiskFreeSpaceEx(path, &s.Free, nil, nil); err != nil {
		return Space{}, false
	}
	if abs, err := filepath.Abs(dir); err == nil {
		s.FileSystem = filepath.VolumeName(abs)
	}
	return s, true
}
