package kserve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// sharedDir is where POSIX shared memory is on Linux.
const sharedDir = "/dev/shm"

// A region is a piece of shared memory.
type region struct {
	name string
	path string
	data []byte
}

// newRegion makes one.
func newRegion(name string, size int) (*region, error) {
	r := &region{name: name, path: filepath.Join(sharedDir, name)}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(int64(size))
	if err == nil {
		r.data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s of %d bytes: %w", r.path, size, err), os.Remove(r.path))
	}
	return r, nil
}

// remove removes it. The server may still have it mapped.
func (r *region) remove() error {
	return errors.Join(syscall.Munmap(r.data), os.Remove(r.path))
}
