package spool

import "golang.org/x/sys/windows"

// freeBytes returns the free space of the file system that holds dir; ok is false
// where that is not known.
func freeBytes(dir string) (free uint64, ok bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err == nil
}
