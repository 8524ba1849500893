//go:build !linux && !darwin && !windows

package disk

// FreeSpace returns the free space of the file system that holds dir; ok is false where that
// is not known.
func FreeSpace(string) (s Space, ok bool) { return Space{}, false }
