//go:build !unix

package journal

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile reports whether nobody else writes the file. Where there is no
// flock (Windows) a file that is open cannot be removed, which has the same
// effect when a second run tries to replace it.
func lockFile(*os.File) bool { return true }

// takeFile returns a new file at path. The error is ErrBusy when there is one
// with content and overwrite is not set. With overwrite, a file that another process
// has open cannot be removed, and the error says so.
func takeFile(path string, overwrite bool) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
		_ = os.Remove(path) // fails if another has it open, as it should
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

// isAt reports whether path still leads to f: a file that is open stays.
func isAt(*os.File, string) bool { return true }

// removeHeld closes a file and removes it: one that is open cannot be removed,
// so that another's is safe.
func removeHeld(f *os.File, path string) error {
	return errors.Join(f.Close(), os.Remove(path))
}
