package kserve

import "fmt"

// Bounds of a message, for parts that take far more memory than bytes on the wire, or
// that are searched one by one.
const (
	maxTensors = 4096
	maxParams  = 1024 // of a message or a tensor
	maxRank    = 64   // dimensions
)

func errTooMany(what string, most int) error {
	return fmt.Errorf("more than %d %s", most, what)
}

// tensorError returns err with the name of the tensor.
func tensorError(what, name string, err error) error {
	return fmt.Errorf("%s %q: %w", what, clip(name), err)
}
