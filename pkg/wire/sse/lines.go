package sse

import "bytes"

// A lineFinder finds the ends of lines in one buffer, from front to back. It
// remembers the next LF. Otherwise, in a buffer whose lines end in a bare CR, each
// line would search the whole buffer for an LF.
type lineFinder struct {
	nextLF int // index of the next LF + 1; 0 before the first search
}

// end returns the index of the first CR or LF in b at or after pos, len(b) if
// there is none. pos must not decrease from call to call.
func (f *lineFinder) end(b []byte, pos int) int {
	if f.nextLF <= pos {
		f.nextLF = len(b) + 1
		if i := bytes.IndexByte(b[pos:], '\n'); i >= 0 {
			f.nextLF = pos + i + 1
		}
	}
	lf := f.nextLF - 1
	if i := bytes.IndexByte(b[pos:lf], '\r'); i >= 0 {
		return pos + i
	}
	return lf
}
