package disk

// A Space is the free space of a file system.
type Space struct {
	Free uint64 // bytes that a process without privileges can still write
	// FileSystem tells file systems apart; "" if the system does not say which one it is.
	FileSystem string
}
