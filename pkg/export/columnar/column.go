package columnar

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export"
)

// A column collects values in Arrow's layout and reuses its memory for the next batch.
// Arrow's builders give their memory to each record and start with new memory.
//
// Invariants: len(offsets) == 4·(n+1) for strings and lists; the elements of the
// unfinished list are in children[0], from the last offset on.
type column struct {
	field    arrow.Field
	width    int // bytes of a number; 0 for all other types
	n        int
	nulls    int
	valid    []byte // a bit per value, when the field can be null
	offsets  []byte // int32 little-endian, of strings and lists
	data     []byte // numbers, bits of bools, bytes of strings
	children []*column
}

func newColumn(f arrow.Field) *column {
	c := &column{field: f}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		for _, k := range t.Fields() {
			c.children = append(c.children, newColumn(k))
		}
	case *arrow.ListType:
		c.children = []*column{newColumn(t.ElemField())}
	case *arrow.BooleanType, *arrow.StringType:
	case arrow.FixedWidthDataType:
		c.width = t.Bytes()
	}
	c.reset()
	return c
}

// reset removes all values and keeps the memory.
func (c *column) reset() {
	c.n, c.nulls = 0, 0
	c.valid, c.data = c.valid[:0], c.data[:0]
	switch c.field.Type.(type) {
	case *arrow.ListType, *arrow.StringType:
		c.offsets = append(c.offsets[:0], 0, 0, 0, 0)
	}
	for _, k := range c.children {
		k.reset()
	}
}

// size returns the bytes that the column holds.
func (c *column) size() int {
	n := len(c.valid) + len(c.offsets) + len(c.data)
	for _, k := range c.children {
		n += k.size()
	}
	return n
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
func (c *column) endValue(valid bool) {
	if c.field.Nullable {
		c.valid = appendBit(c.valid, c.n, valid)
	}
	if !valid {
		c.nulls++
	}
	c.n++
}

// appendNumber appends the low bytes of v, as many as the width of the column.
func (c *column) appendNumber(v uint64) {
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

func (c *column) appendBool(v bool) {
	c.data = appendBit(c.data, c.n, v)
	c.endValue(true)
}

func (c *column) appendString(s string) {
	c.data = appendString(c.data, s)
	c.endText(true)
}

func (c *column) appendBytes(s []byte) {
	c.data = appendText(c.data, s)
	c.endText(true)
}

func (c *column) endText(valid bool) {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
	c.endValue(valid)
}

// appendNull appends a null.
func (c *column) appendNull() {
	switch c.field.Type.(type) {
	case *arrow.ListType:
		c.endList(false)
	case *arrow.StringType:
		c.endText(false)
	case *arrow.BooleanType:
		c.data = appendBit(c.data, c.n, false)
		c.endValue(false)
	default:
		c.data = append(c.data, make([]byte, c.width)...)
		c.endValue(false)
	}
}

func (c *column) appendFloat(v float64) { c.appendNumber(math.Float64bits(v)) }

// appendOptional appends s; null for "".
func (c *column) appendOptional(s string) {
	if s == "" {
		c.appendNull()
	} else {
		c.appendString(s)
	}
}

// appendCount appends v; null if v is missing.
func (c *column) appendCount(v export.Count) {
	if v.OK {
		c.appendNumber(uint64(v.V))
	} else {
		c.appendNull()
	}
}

// endList completes a list. Its elements are the values appended to children[0] since the
// previous list. valid is false for a null list.
func (c *column) endList(valid bool) {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(c.children[0].n))
	c.endValue(valid)
}

// array returns the values as an Arrow array. The array shares the memory of the column
// and is valid until the column changes.
func (c *column) array() *array.Data {
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
