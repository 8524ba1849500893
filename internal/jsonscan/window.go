package jsonscan

import (
	"errors"
	"fmt"
	"io"
)

// DefaultChunk is a good size of the window for requests that fit into it. At
// 30 kB per request about 2 % of the bytes are looked at twice, because the
// request at the window's end is decoded again when more has been read.
const DefaultChunk = 1 << 20

// A Window is the part of a file that is in memory.
//
// buf[:end] holds the bytes of the file from offset base on.
// Invariant: 0 ≤ end ≤ len(buf) and base+end ≤ Size.
type Window struct {
	Name string // for messages
	Src  io.ReaderAt
	// Size is the size of the file. It decreases if the file becomes shorter.
	Size int64
	// Limit is the size of the largest value that a caller needs whole.
	Limit int64
	// Check, if not nil, is called before each read. Its error ends the reading.
	Check func() error

	buf  []byte
	base int64
	end  int
}

// At returns the bytes in memory from offset off of the file on; none if off is outside the
// window.
func (w *Window) At(off int64) []byte {
	if off < w.base || off > w.base+int64(w.end) {
		return nil
	}
	return w.buf[off-w.base : w.end]
}

// Release frees the memory. The window can be used again.
func (w *Window) Release() { w.buf, w.end = nil, 0 }

// grow moves the start of the window to off and reads more bytes at its end, enlarging a full
// window. It invalidates the results of At. It returns false at the end of the file.
func (w *Window) grow(off int64) (bool, error) {
	if w.Check != nil {
		if err := w.Check(); err != nil {
			return false, err
		}
	}
	have := w.At(off)
	if off+int64(len(have)) >= w.Size {
		return false, nil
	}
	switch {
	case len(have) < len(w.buf):
		w.end = copy(w.buf, have)
	default:
		// One byte more than the limit is enough to see that it is passed.
		buf := make([]byte, max(min(2*int64(len(w.buf)), w.Limit+1), int64(len(w.buf))+1))
		w.end = copy(buf, have)
		w.buf = buf
	}
	w.base = off
	n := min(int64(len(w.buf)-w.end), w.Size-off-int64(w.end))
	got, err := w.Src.ReadAt(w.buf[w.end:w.end+int(n)], off+int64(w.end))
	w.end += got
	if int64(got) < n {
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read %s at byte %d: %w", w.Name, off+int64(w.end), err)
		}
		// The file has become shorter since it was opened.
		w.Size = off + int64(w.end)
	}
	return got > 0, nil
}
