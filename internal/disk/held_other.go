//go:build !unix

package disk

import (
	"errors"
	"os"
)

// TryLock returns NoLocks. An open file cannot be removed or replaced here, which keeps
// other processes away from it.
func TryLock(*os.File) Lock { return NoLocks }

// IsAt returns true: an open file cannot be removed.
func IsAt(*os.File, string) bool { return true }

// RemoveHeld closes a file and removes it. It cannot remove a file that another process
// has open.
func RemoveHeld(f *os.File, path string) error {
	return errors.Join(f.Close(), os.Remove(path))
}

// renameHeld closes a file and renames it, because an open one cannot be renamed.
func renameHeld(f *os.File, to string) error {
	err := f.Close()
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// removeLeftover removes a temporary file unless a process has it open.
func removeLeftover(path string) {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		_ = os.Remove(path)
	}
}

// openAtOnce opens a device for writing.
func openAtOnce(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }

// lacksReader returns false: there are no named pipes in folders.
func lacksReader(error) bool { return false }
