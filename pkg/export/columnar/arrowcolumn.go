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
	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// An arrowColumn collects values in Arrow's layout and reuses its memory for the next batch.
// Arrow's builders give their memory to each record and start with new memory.
//
// Invariant: the elements of the unfinished list are in children[0], from the last offset on.
type arrowColumn struct {
	field arrow.Field
	pages.Values
	children []*arrowColumn
	// shared is set for texts if Data holds only the differences to the previous text.
	shared *sharedTexts
	// plain is the last text that appendString wrote as it is; others are checked first.
	plain string
}

func newArrowColumn(f arrow.Field) *arrowColumn {
	c := &arrowColumn{field: f, Values: pages.Values{Nullable: f.Nullable}}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		for _, k := range t.Fields() {
			c.children = append(c.children, newArrowColumn(k))
		}
	case *arrow.ListType:
		c.children = []*arrowColumn{newArrowColumn(t.ElemField())}
	case *arrow.BooleanType, *arrow.StringType:
	case arrow.FixedWidthDataType:
		c.Width = t.Bytes()
	}
	c.reset()
	return c
}

// reset removes all values and keeps the memory.
func (c *arrowColumn) reset() {
	c.N, c.Nulls = 0, 0
	c.Valid, c.Data = c.Valid[:0], c.Data[:0]
	switch c.field.Type.(type) {
	case *arrow.ListType, *arrow.StringType:
		c.Offsets = append(c.Offsets[:0], 0, 0, 0, 0)
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

// size returns the bytes that the column holds; of shared texts, the bytes of the whole texts.
func (c *arrowColumn) size() int {
	n := len(c.Valid) + len(c.Offsets) + len(c.Data)
	if c.shared != nil {
		n += c.shared.bytes - len(c.Data)
	}
	for _, k := range c.children {
		n += k.size()
	}
	return n
}

// lengths appends the lengths of the memory of c and its children to n.
func (c *arrowColumn) lengths(n []int) []int {
	n = append(n, len(c.Valid), len(c.Offsets), len(c.Data), c.N)
	for _, k := range c.children {
		n = k.lengths(n)
	}
	return n
}

// reserve makes room for values that take the lengths n, and some more. It returns the lengths
// of the next column.
func (c *arrowColumn) reserve(n []int) []int {
	for i, b := range [...]*[]byte{&c.Valid, &c.Offsets, &c.Data} {
		*b = slices.Grow(*b, n[i]+n[i]/8)
	}
	if c.shared != nil {
		c.shared.prefixes = slices.Grow(c.shared.prefixes, n[3]+n[3]/8)
	}
	n = n[4:]
	for _, k := range c.children {
		n = k.reserve(n)
	}
	return n
}

// appendColumn appends the values of o, a column of the same type.
func (c *arrowColumn) appendColumn(o *arrowColumn) {
	if c.Nulls+o.Nulls > 0 {
		if c.Nulls == 0 {
			c.Valid = appendSame(c.Valid[:0], 0, true, c.N)
		}
		if o.Nulls == 0 {
			o.Valid = appendSame(o.Valid[:0], 0, true, o.N)
		}
		c.Valid = appendBits(c.Valid, c.N, o.Valid, o.N)
	}
	switch {
	case c.isList():
		c.appendOffsets(o, c.children[0].N)
	case c.isText():
		c.appendOffsets(o, len(c.Data))
	}
	if c.field.Type.ID() == arrow.BOOL {
		c.Data = appendBits(c.Data, c.N, o.Data, o.N)
	} else {
		c.Data = append(c.Data, o.Data...)
	}
	if c.shared != nil {
		c.shared.appendAll(o.shared)
	}
	for i, k := range c.children {
		k.appendColumn(o.children[i])
	}
	c.N += o.N
	c.Nulls += o.Nulls
}

// appendOffsets appends the ends of the texts or lists of o, which begin at base in c.
func (c *arrowColumn) appendOffsets(o *arrowColumn, base int) {
	for i := range o.N {
		c.Offsets = binary.LittleEndian.AppendUint32(c.Offsets, uint32(base+o.Offset(i+1)))
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
	if c.Nulls > 0 {
		c.Valid = appendBit(c.Valid, c.N, valid)
	} else if !valid {
		c.Valid = appendBit(appendSame(c.Valid[:0], 0, true, c.N), c.N, false)
	}
	if !valid {
		c.Nulls++
	}
	c.N++
}

// endValues completes n values that are not null.
func (c *arrowColumn) endValues(n int) {
	if c.Nulls > 0 {
		c.Valid = appendSame(c.Valid, c.N, true, n)
	}
	c.N += n
}

// extend appends n numbers that are not null, and returns their bytes, which the caller sets.
func (c *arrowColumn) extend(n int) []byte {
	at := len(c.Data)
	c.Data = slices.Grow(c.Data, n*c.Width)[:at+n*c.Width]
	c.endValues(n)
	return c.Data[at:]
}

// appendNumber appends the low bytes of v, as many as the width of the column.
func (c *arrowColumn) appendNumber(v uint64) {
	switch c.Width {
	case 1:
		c.Data = append(c.Data, byte(v))
	case 4:
		c.Data = binary.LittleEndian.AppendUint32(c.Data, uint32(v))
	default:
		c.Data = binary.LittleEndian.AppendUint64(c.Data, v)
	}
	c.endValue(true)
}

func (c *arrowColumn) appendBool(v bool) {
	c.Data = appendBit(c.Data, c.N, v)
	c.endValue(true)
}

// appendBools appends v n times.
func (c *arrowColumn) appendBools(v bool, n int) {
	c.Data = appendSame(c.Data, c.N, v, n)
	c.endValues(n)
}

// appendStrings appends s n times to c, which has no shared texts.
func (c *arrowColumn) appendStrings(s string, n int) {
	if n == 0 {
		return
	}
	at := len(c.Data)
	c.appendString(s)
	size := len(c.Data) - at
	c.Data = slices.Grow(c.Data, (n-1)*size)[:at+n*size]
	for done := size; 0 < done && done < n*size; done *= 2 {
		copy(c.Data[at+done:], c.Data[at:at+done])
	}
	from := len(c.Offsets)
	c.Offsets = slices.Grow(c.Offsets, 4*(n-1))[:from+4*(n-1)]
	ends := c.Offsets[from:]
	for i := range n - 1 {
		binary.LittleEndian.PutUint32(ends[4*i:], uint32(at+(i+2)*size))
	}
	c.endValues(n - 1)
}

func (c *arrowColumn) appendString(s string) {
	switch {
	case c.shared != nil:
		c.Data = append(c.Data, c.shared.append([]byte(s))...)
	case s == c.plain:
		c.Data = append(c.Data, s...)
	default:
		before := len(c.Data)
		if c.Data = appendText(c.Data, []byte(s)); len(c.Data)-before == len(s) {
			c.plain = strings.Clone(s)
		}
	}
	c.endText(true)
}

// appendValue appends the text of v.
func (c *arrowColumn) appendValue(v *export.Value) {
	if c.shared != nil {
		c.Data = c.shared.appendValue(c.Data, v)
	} else {
		c.Data = appendText(c.Data, v.Bytes())
	}
	c.endText(true)
}

func (c *arrowColumn) endText(valid bool) {
	c.Offsets = binary.LittleEndian.AppendUint32(c.Offsets, uint32(len(c.Data)))
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
		c.Data = appendBit(c.Data, c.N, false)
		c.endValue(false)
	default:
		c.Data = append(c.Data, make([]byte, c.Width)...)
		c.endValue(false)
	}
}

func (c *arrowColumn) appendFloat(v float64) { c.appendNumber(math.Float64bits(v)) }

// appendCount appends v; null if v is missing.
func (c *arrowColumn) appendCount(v export.Int) {
	if v.OK {
		c.appendNumber(uint64(v.V))
	} else {
		c.appendNull()
	}
}

// endList completes a list. Its elements are the values appended to children[0] since the
// previous list. valid is false for a null list.
func (c *arrowColumn) endList(valid bool) {
	c.Offsets = binary.LittleEndian.AppendUint32(c.Offsets, uint32(c.children[0].N))
	c.endValue(valid)
}

// array returns the values, which are not shared texts, as an Arrow array. The array shares the memory of the column
// and is valid until the column changes.
func (c *arrowColumn) array() *array.Data {
	buffers := []*memory.Buffer{nil}
	if c.Nulls > 0 {
		buffers[0] = memory.NewBufferBytes(c.Valid)
	}
	var kids []arrow.ArrayData
	switch c.field.Type.(type) {
	case *arrow.StructType:
	case *arrow.ListType:
		buffers = append(buffers, memory.NewBufferBytes(c.Offsets))
	case *arrow.StringType:
		buffers = append(buffers, memory.NewBufferBytes(c.Offsets), memory.NewBufferBytes(c.Data))
	default:
		buffers = append(buffers, memory.NewBufferBytes(c.Data))
	}
	for _, k := range c.children {
		kids = append(kids, k.array())
	}
	return array.NewData(c.field.Type, c.N, buffers, kids, c.Nulls, 0)
}
