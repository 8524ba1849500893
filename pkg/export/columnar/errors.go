package columnar

import "fmt"

// A CorruptionError locates the first byte of a journal that cannot be part of
// it: a checksum that is wrong, or something that is no frame though frames
// follow. A journal that merely ends too soon, as after a kill, gives an
// *export.CutError instead.
type CorruptionError struct {
	Path   string
	Offset int64 // everything before it was read
	Err    error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%s: byte %d: damaged: %v; the part before it was read", e.Path, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptionError) Unwrap() error { return e.Err }
