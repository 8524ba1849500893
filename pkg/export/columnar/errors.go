package columnar

import (
	"fmt"
	"runtime"
)

// A CorruptionError locates the damage of a journal: a frame with a wrong checksum, or
// bytes that are not a frame although frames follow. A journal that only ends too soon, as
// after a kill, gives an *export.CutError instead.
type CorruptionError struct {
	Path   string
	Offset int64 // first byte of the damage; the bytes before it were read
	Err    error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%s: byte %d: damaged: %v; the part before it was read", e.Path, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptionError) Unwrap() error { return e.Err }

// catchPanic turns a panic in do into an error: arrow v15 reports by panic some of
// the errors of the file that it writes to or reads from.
func catchPanic(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("damaged beyond what can be read (%w)", p)
		case error:
			err = p
		default:
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}
