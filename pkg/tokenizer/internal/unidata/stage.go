package unidata

// A stage is a table with one value per rune, in blocks of 256. Equal blocks are stored once:
// the value is table[index[r>>8]][r&255].
type stage[T comparable] struct {
	index  [maxRune >> 8]uint16
	blocks [][256]T
}

const maxRune = 0x110000

// spread packs a flat table of maxRune values into a stage.
func spread[T comparable](flat []T) *stage[T] {
	s := &stage[T]{}
	seen := map[[256]T]uint16{}
	for i := range s.index {
		block := [256]T(flat[i<<8:])
		at, ok := seen[block]
		if !ok {
			at = uint16(len(s.blocks))
			seen[block] = at
			s.blocks = append(s.blocks, block)
		}
		s.index[i] = at
	}
	return s
}

// at returns the value of r, which must be a valid rune.
func (s *stage[T]) at(r rune) T {
	return s.blocks[s.index[uint32(r)>>8]][uint8(r)]
}

// mark sets bit for all runes of the runs.
func mark[T uint8 | uint16](flat []T, runs []rune, bit T) {
	for i := 0; i < len(runs); i += 2 {
		for r := runs[i]; r < runs[i+1]; r++ {
			flat[r] |= bit
		}
	}
}
