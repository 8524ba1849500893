package kserve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharedDir is the directory of POSIX shared memory on Linux.
const sharedDir = "/dev/shm"

// A region is a region of shared memory.
type region struct {
	name string
	path string
	data []byte
}

// newRegion creates a region and reserves its first bytes; see reserve.
func newRegion(name string, size, reserved int) (*region, error) {
	r := &region{name: name, path: filepath.Join(sharedDir, name)}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(int64(size)); err != nil {
		err = fmt.Errorf("%s of %d bytes: %w", r.path, size, err)
	}
	if err == nil {
		err = reserve(f, 0, reserved)
	}
	if err == nil {
		r.data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(r.path))
	}
	return r, nil
}

// reserve allocates the memory of n bytes from an offset on. If the memory ran out
// later, a write to the region would kill this process or the server with SIGBUS.
func (r *region) reserve(from, n int) error {
	f, err := os.OpenFile(r.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(reserve(f, from, n), f.Close())
}

func reserve(f *os.File, from, n int) error {
	if n == 0 {
		return nil
	}
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, int64(from), int64(n))
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // the file system is no tmpfs
	}
	var st unix.Statfs_t
	dir := filepath.Dir(f.Name())
	if !errors.Is(err, unix.ENOSPC) || unix.Statfs(dir, &st) != nil {
		return err
	}
	return fmt.Errorf("%s: %d more bytes are needed and %d are free: %w; enlarge it (docker run --shm-size, or mount -o remount,size=…), or use smaller inputs or fewer slots",
		dir, n, int64(st.Bavail)*st.Bsize, err)
}

// remove removes the region. The server may still have it mapped.
func (r *region) remove() error {
	return errors.Join(syscall.Munmap(r.data), os.Remove(r.path))
}
