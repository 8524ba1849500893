//go:build !unix

package journal

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile returns true. Windows has no flock, but an open file cannot be removed there,
// so a second run cannot replace it.
func lockFile(*os.File) bool { return true }

// takeFile creates the file at path. It returns ErrBusy if the file exists with content
// and overwrite is not set. With overwrite it returns an error for a file that another
// process has open, because such a file cannot be removed. Windows has no permissions that
// would make a file private.
func takeFile(path string, overwrite, _ bool) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
		_ = os.Remove(path) // must fail if another process has it open
	}
	if overwrite {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrBusy
	}
	return f, err
}

// isAt returns true: an open file cannot be removed.
func isAt(*os.File, string) bool { return true }

// removeHeld closes a file and removes it. It cannot remove a file that another process
// has open.
func removeHeld(f *os.File, path string) error {
	return errors.Join(f.Close(), os.Remove(path))
}
