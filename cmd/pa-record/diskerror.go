package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// diskError says of an error of the file system which file it is about, once,
// and keeps other errors as they are.
func diskError(name string, err error) error {
	var pe *fs.PathError
	var errno syscall.Errno
	if errors.As(err, &pe) && errors.As(pe.Err, &errno) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// diskAdvice returns what to do about an error of the file system, "" when there
// is nothing to say.
func diskAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "free space there"
	case errors.Is(err, syscall.EDQUOT):
		return "free space there, or have the quota raised"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on file sizes (ulimit -f)"
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit on open files (ulimit -n)"
	}
	return ""
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
