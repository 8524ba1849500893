package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A dataFile is a file whose Sync waits for its data and its size, but not for its times.
type dataFile struct{ *os.File }

// Sync has what was written to the file on the disk when it returns.
func (f dataFile) Sync() error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := c.Control(func(fd uintptr) {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Fdatasync(int(fd))
		}
	}); cerr != nil {
		return cerr
	}
	return os.NewSyscallError("fdatasync", err)
}
