//go:build !linux

package heap

// FreeBytes returns false: the memory that the program may still take is unknown.
func FreeBytes() (n uint64, ok bool) { return 0, false }
