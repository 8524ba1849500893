//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/disk"
)

// maxTakes bounds how often takeFile starts over.
const maxTakes = 100

// takeFile opens or creates the file at path, locks it and empties it. It never removes an
// existing file, which another process may be about to lock: the file belongs to the
// holder of the lock. takeFile returns ErrBusy if another process holds the lock, and
// ErrLeftover if the file has content and overwrite is not set. Only the owner may read and
// write the file. takeFile refuses a private file that belongs to another user.
func takeFile(path string, overwrite, private bool) (*os.File, error) {
	for range maxTakes {
		// A symbolic link in the folder for temporary files could lead to the file of
		// another user.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, disk.Private)
		if err != nil {
			return nil, err
		}
		if !lockFile(f) {
			return nil, errors.Join(ErrBusy, f.Close())
		}
		if !disk.IsAt(f, path) { // its owner removed it before we had the lock
			if err := f.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if private {
			err = f.Chmod(disk.Private) // fails if another user made the file
		}
		if err == nil {
			err = emptyFile(f, overwrite)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if !private { // of an earlier run, which may have given it another mode
			_ = f.Chmod(disk.Private)
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
