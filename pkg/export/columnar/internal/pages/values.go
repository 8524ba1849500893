package pages

import (
	"encoding/binary"
	"slices"
)

// Values are the values of a column that are to be written, in Arrow's layout. A column of lists has
// its elements in other Values.
type Values struct {
	Nullable bool
	Width    int // bytes of a number; 0 for all other types
	N        int
	Nulls    int
	Valid    []byte // a bit per value, if there are nulls
	Offsets  []byte // int32 little-endian, of strings and lists: 4·(N+1) bytes
	Data     []byte // numbers, bits of bools, bytes of strings
}

// IsNull reports whether value i is null.
func (c *Values) IsNull(i int) bool { return c.Nulls > 0 && c.Valid[i/8]>>(i%8)&1 == 0 }

// Offset returns the index in Data, or in the elements, at which text or list i starts.
func (c *Values) Offset(i int) int {
	return int(int32(binary.LittleEndian.Uint32(c.Offsets[4*i:])))
}

// appendNumbers appends the values that are not null to b, as integers of 64 bits with their
// sign extended, and doubles as their bits.
func (c *Values) appendNumbers(b []int64) []int64 {
	at := len(b)
	b = slices.Grow(b, c.N)[:at+c.N]
	numbers := b[at:]
	data := c.Data
	switch c.Width {
	case 0:
		for i := range numbers {
			numbers[i] = int64(data[i/8] >> (i % 8) & 1)
		}
	case 1:
		for i := range numbers {
			numbers[i] = int64(int8(data[i]))
		}
	case 4:
		for ; len(numbers) > 0 && len(data) >= 4; numbers, data = numbers[1:], data[4:] {
			numbers[0] = int64(int32(binary.LittleEndian.Uint32(data)))
		}
	default:
		for ; len(numbers) > 0 && len(data) >= 8; numbers, data = numbers[1:], data[8:] {
			numbers[0] = int64(binary.LittleEndian.Uint64(data))
		}
	}
	numbers = b[at:]
	if c.Nulls == 0 {
		return b
	}
	kept := b[:at]
	for i := 0; i < len(numbers); i++ {
		for i+8 <= len(numbers) && i%8 == 0 && c.Valid[i/8] == 0xff {
			kept = append(kept, numbers[i:i+8]...)
			i += 8
		}
		if i < len(numbers) && !c.IsNull(i) {
			kept = append(kept, numbers[i])
		}
	}
	return kept
}

// appendTexts appends the texts that are not null to texts. A column with shared texts has only
// their rests.
func (c *Values) appendTexts(texts [][]byte) [][]byte {
	begin := 0
	for i := range c.N {
		end := c.Offset(i + 1)
		if !c.IsNull(i) {
			texts = append(texts, c.Data[begin:end])
		}
		begin = end
	}
	return texts
}
