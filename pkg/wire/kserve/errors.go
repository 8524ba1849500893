package kserve

import "fmt"

// tensorError says which tensor an error is about.
func tensorError(what, name string, err error) error {
	return fmt.Errorf("%s %q: %w", what, clip(name), err)
}
