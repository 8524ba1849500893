package export

import "encoding/binary"

// StripLengthPrefix removes the length that perf_analyzer 24.03, 24.11 and
// 24.12 leave before a string output:
//
//	len(4, little-endian) bytes…
//
// ok reports that b is nothing but strings of that layout, one after the other
// (one string, for a language model); the result then is b without the first
// length, and shares its memory. Later lengths stay, as they do in the files of
// every other release: "\x02\x00\x00\x00ab\x03\x00\x00\x00xyz" becomes
// "ab\x03\x00\x00\x00xyz".
//
// A text whose first four bytes happen to be its own remaining length is mistaken for
// one with a prefix: a control character and three NUL, or three NUL after a character
// of that code (34 bytes after a quote). Decide by all outputs of a file, not by one.
func StripLengthPrefix(b []byte) (text []byte, ok bool) {
	for rest := b; ; {
		if len(rest) < 4 {
			return b, false
		}
		n := uint64(binary.LittleEndian.Uint32(rest))
		rest = rest[4:]
		if n > uint64(len(rest)) {
			return b, false
		}
		rest = rest[n:]
		if len(rest) == 0 {
			return b[4:], true
		}
	}
}
