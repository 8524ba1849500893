package journal

import (
	"fmt"
	"os"
	"path/filepath"
)

// reservedFDs is the number of descriptors for the end of a run: the journal, an export,
// a temporary file, and some to spare.
const reservedFDs = 8

// An fdReserve holds file descriptors, so that a load that uses up all others leaves
// enough to write the exports.
type fdReserve struct{ files []*os.File }

// newFDReserve opens n descriptors.
func newFDReserve(n int) (fdReserve, error) {
	var r fdReserve
	for range n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			r.release()
			return fdReserve{}, diskError("file descriptors for the end of the run", err)
		}
		r.files = append(r.files, f)
	}
	return r, nil
}

// release closes the descriptors. It may be called more than once.
func (r *fdReserve) release() {
	for _, f := range r.files {
		_ = f.Close()
	}
	r.files = nil
}

// reservedBytes exceeds the size of a journal's end.
const reservedBytes = 64 << 10

// A diskReserve occupies space on a disk, so that a load that fills the disk leaves enough
// for the end of its journal. The zero value occupies none.
type diskReserve struct{ file *os.File }

// newDiskReserve occupies space in a folder. Where the system allows it, the file has no
// name, so that the system frees it when the process ends.
func newDiskReserve(dir string) (diskReserve, error) {
	f, err := os.CreateTemp(dir, ".pa-record-*")
	if err != nil {
		return diskReserve{}, fmt.Errorf("room for the end of the journal: %w", err)
	}
	_ = os.Remove(f.Name())
	r := diskReserve{f}
	if _, err := f.Write(make([]byte, reservedBytes)); err != nil {
		r.release()
		return diskReserve{}, diskError("room for the end of the journal in "+filepath.Clean(dir), err)
	}
	return r, nil
}

// release frees the space. It may be called more than once.
func (r *diskReserve) release() {
	if r.file != nil {
		_, _ = r.file.Close(), os.Remove(r.file.Name()) // it may still have its name
		r.file = nil
	}
}
