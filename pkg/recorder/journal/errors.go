package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/pa-tools/pa/internal/disk"
)

// Reasons of a *FileError. The file is left as it is.
var (
	// ErrBusy: another Writer holds the journal, in another process or in this one.
	ErrBusy = errors.New("another process writes it")
	// ErrLeftover: a killed run left the journal. [Recover] finishes it.
	ErrLeftover = errors.New("it was left by a run that was killed")
	// ErrEnded: the journal's run ended just before [Recover] began.
	ErrEnded = errors.New("its run has just ended and written its exports")
	// ErrExists: the file of an export exists, and overwriting is not allowed.
	ErrExists = errors.New("the file exists")
	// ErrNotRegular: the path of the journal is a pipe, a device, a folder, or a link that
	// does not lead to a journal that moved.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNoReader: the export is a pipe that no process reads.
	ErrNoReader = disk.ErrNoReader
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
	Requests int    // number of readable requests in the journal
	Err      error  // joins the errors of the journal and of the exports
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("%v; requests kept: %d, in %s", e.Err, e.Requests, e.Path)
}

// Unwrap returns the cause.
func (e *KeptError) Unwrap() error { return e.Err }

// diskError prefixes err with the name of a file. An error of the file system loses the
// name that it has already.
func diskError(name string, err error) error {
	return fmt.Errorf("%s: %w", name, withoutName(err))
}

// withoutName removes the operation and the name from an error of the file system or of an
// output.
func withoutName(err error) error {
	if out, ok := errors.AsType[*disk.OutputError](err); ok {
		return out.Err
	}
	var pe *fs.PathError
	var errno syscall.Errno
	if errors.As(err, &pe) && errors.As(pe.Err, &errno) {
		return pe.Err
	}
	return err
}
