//go:build !unix

package journal

import (
	"errors"
	"io/fs"
	"os"

	"github.com/pa-tools/pa/internal/disk"
)

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
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, disk.Private)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrBusy
	}
	return f, err
}
