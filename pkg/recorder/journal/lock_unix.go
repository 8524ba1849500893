//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of a file and reports whether nobody else had it. It
// is released when the file is closed, however the process ends. File systems
// without locks count as nobody having it.
func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}

// maxTakes bounds how often takeFile starts over.
const maxTakes = 100

// takeFile returns the file at path, empty and locked; it creates it if there is
// none. One that is there is never removed, for another process may be about to
// lock it: who has the lock has the file. The error is ErrBusy when another has
// it, ErrLeftover when it has content and overwrite is not set.
func takeFile(path string, overwrite bool) (*os.File, error) {
	for range maxTakes {
		// A link could lead to somebody's file: there may be one in the folder
		// for temporary files.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			return nil, err
		}
		if !lockFile(f) {
			return nil, errors.Join(ErrBusy, f.Close())
		}
		if !isAt(f, path) { // its owner removed it before we had the lock
			if err := f.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if err := emptyFile(f, overwrite); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: replaced by others %d times while it was opened; give the export another name", path, maxTakes)
}

// emptyFile takes the content out of f, if that is allowed.
func emptyFile(f *os.File, overwrite bool) error {
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file; remove it, or give the export another name", f.Name())
	case st.Size() == 0:
		return nil
	case !overwrite:
		return ErrLeftover
	}
	return f.Truncate(0)
}

// isAt reports whether path still leads to f.
func isAt(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}

// removeHeld removes a file and gives up its lock, in this order: whoever gets
// the lock finds that the file is gone.
func removeHeld(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}
