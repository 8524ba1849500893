package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// A Skipper finds the end of a string, array or object whose text comes in
// pieces of any size. It checks nothing but where the value ends. The zero
// value is ready for the first piece.
type Skipper struct {
	depth    int
	inString bool
	escape   bool // the last byte was a backslash in a string
}

// Next consumes n bytes of b: all of them, or the bytes up to the end of the value,
// which done reports. The first piece begins with the first byte of the value.
func (s *Skipper) Next(b []byte) (n int, done bool) {
	depth, inString := s.depth, s.inString // in registers
	i := 0
	if s.escape && len(b) > 0 {
		s.escape = false
		i = 1
	}
	for i < len(b) && !done {
		if inString {
			for i+8 <= len(b) {
				w := binary.LittleEndian.Uint64(b[i:])
				q, e := w^lsb*'"', w^lsb*'\\'
				m := ((q-lsb)&^q | (e-lsb)&^e) & msb
				if m == 0 {
					i += 8
					continue
				}
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			for i < len(b) && b[i] != '"' && b[i] != '\\' {
				i++
			}
			switch {
			case i == len(b):
			case b[i] == '"':
				inString, done = false, depth == 0
				i++
			case i+1 == len(b):
				s.escape = true
				i++
			default:
				i += 2
			}
			continue
		}
		switch b[i] {
		case '"':
			inString = true
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			done = depth <= 0
		}
		i++
	}
	s.depth, s.inString = depth, inString
	return i, done
}
