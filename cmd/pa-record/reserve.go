package main

import "os"

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
