//go:build !linux

package journal

import "os"

// A dataFile is a file that the queue has written to the disk.
type dataFile struct{ *os.File }
