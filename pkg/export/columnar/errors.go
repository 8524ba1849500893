package columnar

import "fmt"

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
