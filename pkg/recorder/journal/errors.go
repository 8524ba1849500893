package journal

import (
	"errors"
	"fmt"
)

// Reasons in a *FileError why a file is not touched.
var (
	// ErrBusy: another Writer has the journal, in another process or in this one.
	ErrBusy = errors.New("another process writes it")
	// ErrLeftover: a killed run left the journal. [Recover] finishes it.
	ErrLeftover = errors.New("it was left by a run that was killed")
	// ErrEnded: the journal's run ended just before [Recover] would have begun.
	ErrEnded = errors.New("its run has just ended and written its exports")
	// ErrExists: an export has the name of a file, and overwriting is not allowed.
	ErrExists = errors.New("the file exists")
	// ErrNotRegular: a pipe, a device or a link has the name of the journal.
	ErrNotRegular = errors.New("not a regular file")
)

// A FileError names an export or a journal that cannot be written or recovered.
// [errors.Is] finds the reason.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// A KeptError reports that not all exports could be written. The journal stays, and
// [Recover] can write them later.
type KeptError struct {
	Path     string // of the journal
	Requests int    // number of requests in the journal, as far as it can be read
	Err      error  // every error, of the journal and of the exports
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("%v; requests kept: %d, in %s", e.Err, e.Requests, e.Path)
}

// Unwrap returns the cause.
func (e *KeptError) Unwrap() error { return e.Err }
