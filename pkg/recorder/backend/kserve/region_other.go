//go:build !linux

package kserve

import "errors"

// A region is a region of shared memory.
type region struct {
	name string
	data []byte
}

func newRegion(string, int, int) (*region, error) {
	return nil, errors.New("is supported on Linux only; drop --shared-memory")
}

func (r *region) reserve(int, int) error { return nil }

func (r *region) remove() error { return nil }
