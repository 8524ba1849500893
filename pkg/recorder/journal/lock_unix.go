//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file and reports whether no other process holds the lock. Closing the
// file or the end of the process releases the lock. lockFile returns true on a file
// system without locks.
func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}

// maxTakes bounds how often takeFile starts over.
const maxTakes = 100

// takeFile opens or creates the file at path, locks it and empties it. It never removes an
// existing file, which another process may be about to lock: the file belongs to the
// holder of the lock. takeFile returns ErrBusy if another process holds the lock, and
// ErrLeftover if the file has content and overwrite is not set. Of a private file only the
// owner may read and write, and takeFile refuses one that belongs to another user.
func takeFile(path string, overwrite, private bool) (*os.File, error) {
	perm := os.FileMode(0o666)
	if private {
		perm = 0o600
	}
	for range maxTakes {
		// A symbolic link in the folder for temporary files could lead to the file of
		// another user.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, perm)
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
		if private {
			err = f.Chmod(perm) // fails if another user made the file
		}
		if err == nil {
			err = emptyFile(f, overwrite)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: replaced by others %d times while it was opened; give the export another name", path, maxTakes)
}

// emptyFile truncates f. It returns ErrLeftover if f has content and overwrite is not set.
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

// removeHeld removes a file and then releases its lock, so that the next holder of the
// lock finds that the file is gone.
func removeHeld(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}
