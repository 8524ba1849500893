package profilejson

import (
	"errors"
	"fmt"
	"io"
)

// defaultChunk is the size of the window for requests that fit into it. At
// 30 kB per request about 2 % of the bytes are looked at twice, because the
// request at the window's end is decoded again when more has been read.
const defaultChunk = 1 << 20

// A window is the part of a file that is in memory.
//
// buf[:end] holds the bytes of the file from offset base on.
// Invariant: 0 ≤ end ≤ len(buf) and base+end ≤ size.
type window struct {
	name string
	src  io.ReaderAt
	size int64
	// limit is the size of the largest value that a caller needs whole.
	limit int64
	buf   []byte
	base  int64
	end   int
	// check, when set, is asked before each read whether to go on.
	check func() error
}

// at returns the bytes in memory from the file's offset off on; none when off
// is outside the window.
func (w *window) at(off int64) []byte {
	if off < w.base || off > w.base+int64(w.end) {
		return nil
	}
	return w.buf[off-w.base : w.end]
}

// grow makes the window start at off and hold more than it did from there on,
// enlarging it when it is full. It invalidates what at returned. It returns
// false when the file has nothing more.
func (w *window) grow(off int64) (bool, error) {
	if w.check != nil {
		if err := w.check(); err != nil {
			return false, err
		}
	}
	have := w.at(off)
	if off+int64(len(have)) >= w.size {
		return false, nil
	}
	switch {
	case len(have) < len(w.buf):
		w.end = copy(w.buf, have)
	default:
		// One byte more than the limit is enough to see that it is passed.
		buf := make([]byte, max(min(2*int64(len(w.buf)), w.limit+1), int64(len(w.buf))+1))
		w.end = copy(buf, have)
		w.buf = buf
	}
	w.base = off
	n := min(int64(len(w.buf)-w.end), w.size-off-int64(w.end))
	got, err := w.src.ReadAt(w.buf[w.end:w.end+int(n)], off+int64(w.end))
	w.end += got
	if int64(got) < n {
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read %s at byte %d: %w", w.name, off+int64(w.end), err)
		}
		// The file has become shorter since it was opened.
		w.size = off + int64(w.end)
	}
	return got > 0, nil
}
