package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// diskError puts the name of a file in front of an error of the file system, once.
// It keeps other errors as they are.
func diskError(name string, err error) error {
	var pe *fs.PathError
	var errno syscall.Errno
	if errors.As(err, &pe) && errors.As(pe.Err, &errno) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
