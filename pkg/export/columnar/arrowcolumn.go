package columnar

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export"
)

// An arrowColumn collects values in Arrow's layout and reuses its memory for the next batch.
// Arrow's builders give their memory to each record and start with new memory.
//
// Invariants: len(offsets) == 4·(n+1) for strings and lists; the elements of the
// unfinished list are in children[0], from the last offset on.
type arrowColumn struct {
	field    arrow.Field
	width    int // bytes of a number; 0 for all other types
	n        int
	nulls    int
	valid    []byte // a bit per value, if there are nulls
	offsets  []byte // int32 little-endian, of strings and lists
	data     []byte // numbers, bits of bools, bytes of strings
	children []*arrowColumn
	// shared is set for texts if data holds only the differences to the previous text.
	shared *sharedTexts
	// plain is the last text that appendString wrote as it is; others are checked first.
	plain string
}

func newArrowColumn(f arrow.Field) *arrowColumn {
	c := &arrowColumn{field: f}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		for _, k := range t.Fields() {
			c.children = append(c.children, newArrowColumn(k))
		}
	case *arrow.ListType:
		c.children = []*arrowColumn{newArrowColumn(t.ElemField())}
	case *arrow.BooleanType, *arrow.StringType:
	case arrow.FixedWidthDataType:
		c.width = t.Bytes()
	}
	c.reset()
	return c
}

// reset removes all values and keeps the memory.
func (c *arrowColumn) reset() {
	c.n, c.nulls = 0, 0
	c.valid, c.data = c.valid[:0], c.data[:0]
	switch c.field.Type.(type) {
	case *arrow.ListType, *arrow.StringType:
		c.offsets = append(c.offsets[:0], 0, 0, 0, 0)
	}
	for _, k := range c.children {
		k.reset()
	}
	if c.shared != nil {
		c.shared.reset()
	}
}

func (c *arrowColumn) isList() bool { _, ok := c.field.Type.(*arrow.ListType); return ok }

func (c *arrowColumn) isStruct() bool { _, ok := c.field.Type.(*arrow.StructType); return ok }

func (c *arrowColumn) isText() bool { return c.field.Type.ID() == arrow.STRING }

// isNull reports whether value i is null.
func (c *arrowColumn) isNull(i int) bool { return c.nulls > 0 && c.valid[i/8]>>(i%8)&1 == 0 }

// offset returns the index in data or children[0] at which text or list i starts.
func (c *arrowColumn) offset(i int) int {
	return int(int32(binary.LittleEndian.Uint32(c.offsets[4*i:])))
}

// size returns the bytes that the column holds; of shared texts, the bytes of the whole texts.
func (c *arrowColumn) size() int {
	n := len(c.valid) + len(c.offsets) + len(c.data)
	if c.shared != nil {
		n += c.shared.bytes - len(c.data)
	}
	for _, k := range c.children {
		n += k.size()
	}
	return n
}

// lengths appends the lengths of the memory of c and its children to n.
func (c *arrowColumn) lengths(n []int) []int {
	n = append(n, len(c.valid), len(c.offsets), len(c.data))
	if c.shared != nil {
		n = append(n, len(c.shared.prefixes))
	}
	for _, k := range c.children {
		n = k.lengths(n)
	}
	return n
}

// reserve makes room for values that take the lengths n, and some more. It returns the lengths
// of the next column.
func (c *arrowColumn) reserve(n []int) []int {
	room := func(n int) int { return n + n/8 }
	c.valid = slices.Grow(c.valid, room(n[0]))
	c.offsets = slices.Grow(c.offsets, room(n[1]))
	c.data = slices.Grow(c.data, room(n[2]))
	n = n[3:]
	if c.shared != nil {
		c.shared.prefixes = slices.Grow(c.shared.prefixes, room(n[0]))
		n = n[1:]
	}
	for _, k := range c.children {
		n = k.reserve(n)
	}
	return n
}

// appendColumn appends the values of o, a column of the same type.
func (c *arrowColumn) appendColumn(o *arrowColumn) {
	if c.nulls+o.nulls > 0 {
		if c.nulls == 0 {
			c.valid = appendSame(c.valid[:0], 0, true, c.n)
		}
		if o.nulls == 0 {
			o.valid = appendSame(o.valid[:0], 0, true, o.n)
		}
		c.valid = appendBits(c.valid, c.n, o.valid, o.n)
	}
	switch {
	case c.isList():
		c.appendOffsets(o, c.children[0].n)
	case c.isText():
		c.appendOffsets(o, len(c.data))
	}
	if c.field.Type.ID() == arrow.BOOL {
		c.data = appendBits(c.data, c.n, o.data, o.n)
	} else {
		c.data = append(c.data, o.data...)
	}
	if c.shared != nil {
		c.shared.appendAll(o.shared)
	}
	for i, k := range c.children {
		k.appendColumn(o.children[i])
	}
	c.n += o.n
	c.nulls += o.nulls
}

// appendOffsets appends the ends of the texts or lists of o, which begin at base in c.
func (c *arrowColumn) appendOffsets(o *arrowColumn, base int) {
	for i := range o.n {
		c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(base+o.offset(i+1)))
	}
}

// appendBits appends the m bits of src to the bitmap b, which holds n bits.
func appendBits(b []byte, n int, src []byte, m int) []byte {
	if m == 0 {
		return b
	}
	src = src[:(m+7)/8]
	shift := n % 8
	if shift == 0 {
		return append(b, src...)
	}
	for _, x := range src {
		b[len(b)-1] |= x << shift
		b = append(b, x>>(8-shift))
	}
	return b[:(n+m+7)/8]
}

// appendSame appends v n times to the bitmap b, which holds i bits.
func appendSame(b []byte, i int, v bool, n int) []byte {
	end := i + n
	for ; i < end && i%8 != 0; i++ {
		b = appendBit(b, i, v)
	}
	eight := byte(0)
	if v {
		eight = 0xff
	}
	for ; i+8 <= end; i += 8 {
		b = append(b, eight)
	}
	for ; i < end; i++ {
		b = appendBit(b, i, v)
	}
	return b
}

// appendBit appends v as bit number i of the bitmap b, which holds i bits.
func appendBit(b []byte, i int, v bool) []byte {
	if i%8 == 0 {
		b = append(b, 0)
	}
	if v {
		b[i/8] |= 1 << (i % 8)
	}
	return b
}

// endValue completes a value. valid is false for null.
func (c *arrowColumn) endValue(valid bool) {
	if c.nulls > 0 {
		c.valid = appendBit(c.valid, c.n, valid)
	} else if !valid {
		c.valid = appendBit(appendSame(c.valid[:0], 0, true, c.n), c.n, false)
	}
	if !valid {
		c.nulls++
	}
	c.n++
}

// endValues completes n values that are not null.
func (c *arrowColumn) endValues(n int) {
	if c.nulls > 0 {
		c.valid = appendSame(c.valid, c.n, true, n)
	}
	c.n += n
}

// extend appends n numbers that are not null, and returns their bytes, which the caller sets.
func (c *arrowColumn) extend(n int) []byte {
	at := len(c.data)
	c.data = slices.Grow(c.data, n*c.width)[:at+n*c.width]
	c.endValues(n)
	return c.data[at:]
}

// appendNumber appends the low bytes of v, as many as the width of the column.
func (c *arrowColumn) appendNumber(v uint64) {
	switch c.width {
	case 1:
		c.data = append(c.data, byte(v))
	case 4:
		c.data = binary.LittleEndian.AppendUint32(c.data, uint32(v))
	default:
		c.data = binary.LittleEndian.AppendUint64(c.data, v)
	}
	c.endValue(true)
}

func (c *arrowColumn) appendBool(v bool) {
	c.data = appendBit(c.data, c.n, v)
	c.endValue(true)
}

// appendBools appends v n times.
func (c *arrowColumn) appendBools(v bool, n int) {
	c.data = appendSame(c.data, c.n, v, n)
	c.endValues(n)
}

// appendStrings appends s n times to c, which has no shared texts.
func (c *arrowColumn) appendStrings(s string, n int) {
	if n == 0 {
		return
	}
	at := len(c.data)
	c.appendString(s)
	size := len(c.data) - at
	c.data = slices.Grow(c.data, (n-1)*size)[:at+n*size]
	for done := size; 0 < done && done < n*size; done *= 2 {
		copy(c.data[at+done:], c.data[at:at+done])
	}
	from := len(c.offsets)
	c.offsets = slices.Grow(c.offsets, 4*(n-1))[:from+4*(n-1)]
	ends := c.offsets[from:]
	for i := range n - 1 {
		binary.LittleEndian.PutUint32(ends[4*i:], uint32(at+(i+2)*size))
	}
	c.endValues(n - 1)
}

func (c *arrowColumn) appendString(s string) {
	switch {
	case c.shared != nil:
		c.data = append(c.data, c.shared.append([]byte(s))...)
	case s == c.plain:
		c.data = append(c.data, s...)
	default:
		before := len(c.data)
		if c.data = appendText(c.data, []byte(s)); len(c.data)-before == len(s) {
			c.plain = strings.Clone(s)
		}
	}
	c.endText(true)
}

// appendValue appends the text of v.
func (c *arrowColumn) appendValue(v *export.Value) {
	if c.shared != nil {
		c.data = c.shared.appendValue(c.data, v)
	} else {
		c.data = appendText(c.data, v.Bytes())
	}
	c.endText(true)
}

func (c *arrowColumn) endText(valid bool) {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
	c.endValue(valid)
}

// appendNull appends a null.
func (c *arrowColumn) appendNull() {
	switch c.field.Type.(type) {
	case *arrow.ListType:
		c.endList(false)
	case *arrow.StringType:
		if c.shared != nil {
			c.shared.appendNull()
		}
		c.endText(false)
	case *arrow.BooleanType:
		c.data = appendBit(c.data, c.n, false)
		c.endValue(false)
	default:
		c.data = append(c.data, make([]byte, c.width)...)
		c.endValue(false)
	}
}

func (c *arrowColumn) appendFloat(v float64) { c.appendNumber(math.Float64bits(v)) }

// appendCount appends v; null if v is missing.
func (c *arrowColumn) appendCount(v export.Count) {
	if v.OK {
		c.appendNumber(uint64(v.V))
	} else {
		c.appendNull()
	}
}

// endList completes a list. Its elements are the values appended to children[0] since the
// previous list. valid is false for a null list.
func (c *arrowColumn) endList(valid bool) {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(c.children[0].n))
	c.endValue(valid)
}

// array returns the values, which are not shared texts, as an Arrow array. The array shares the memory of the column
// and is valid until the column changes.
func (c *arrowColumn) array() *array.Data {
	buffers := []*memory.Buffer{nil}
	if c.nulls > 0 {
		buffers[0] = memory.NewBufferBytes(c.valid)
	}
	var kids []arrow.ArrayData
	switch c.field.Type.(type) {
	case *arrow.StructType:
	case *arrow.ListType:
		buffers = append(buffers, memory.NewBufferBytes(c.offsets))
	case *arrow.StringType:
		buffers = append(buffers, memory.NewBufferBytes(c.offsets), memory.NewBufferBytes(c.data))
	default:
		buffers = append(buffers, memory.NewBufferBytes(c.data))
	}
	for _, k := range c.children {
		kids = append(kids, k.array())
	}
	return array.NewData(c.field.Type, c.n, buffers, kids, c.nulls, 0)
}

// appendNumbers appends the values that are not null to b, as integers of 64 bits with their
// sign extended, and doubles as their bits.
func (c *arrowColumn) appendNumbers(b []int64) []int64 {
	at := len(b)
	b = slices.Grow(b, c.n)[:at+c.n]
	numbers := b[at:]
	data := c.data
	switch c.width {
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
	if c.nulls == 0 {
		return b
	}
	kept := b[:at]
	for i := 0; i < len(numbers); i++ {
		for i+8 <= len(numbers) && i%8 == 0 && c.valid[i/8] == 0xff {
			kept = append(kept, numbers[i:i+8]...)
			i += 8
		}
		if i < len(numbers) && !c.isNull(i) {
			kept = append(kept, numbers[i])
		}
	}
	return kept
}

// appendTexts appends the texts that are not null to texts. A column with shared texts has only
// their rests.
func (c *arrowColumn) appendTexts(texts [][]byte) [][]byte {
	begin := 0
	for i := range c.n {
		end := c.offset(i + 1)
		if !c.isNull(i) {
			texts = append(texts, c.data[begin:end])
		}
		begin = end
	}
	return texts
}
