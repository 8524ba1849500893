package journal

import (
	"fmt"
	"os"
	"path/filepath"
)

// reservedFDs is how many descriptors the end of a run needs: the journal, an
// export, a temporary file, and some to spare.
const reservedFDs = 8

// An fdReserve holds file descriptors, so that a load that uses up all there are
// leaves enough to write the export with.
type fdReserve struct{ files []*os.File }

// newFDReserve takes n descriptors.
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

// release gives them back. It may be called again.
func (r *fdReserve) release() {
	for _, f := range r.files {
		_ = f.Close()
	}
	r.files = nil
}

// reservedBytes is more than the end of a journal takes.
const reservedBytes = 64 << 10

// A diskReserve holds room on a disk, so that a load that fills the disk leaves
// enough for the end of its journal. The zero value holds none.
type diskReserve struct{ file *os.File }

// newDiskReserve takes room in a folder, in a file that has no name any more
// where the system allows that: it goes with the process.
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

// release gives the room back. It may be called again.
func (r *diskReserve) release() {
	if r.file != nil {
		_, _ = r.file.Close(), os.Remove(r.file.Name()) // where it still has its name
		r.file = nil
	}
}
