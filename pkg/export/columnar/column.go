package columnar

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export"
)

// A column collects values in Arrow's layout, in memory that is used again for
// the next batch. Arrow's own builders give theirs away with each record.
//
// Invariants: len(offsets) == 4·(n+1) for strings and lists; the elements of a
// list that is being built are kids[0] from the last offset on.
type column struct {
	field   arrow.Field
	width   int // bytes of a number; 0 for all other types
	n       int
	nulls   int
	valid   []byte // a bit per value, when the field can be null
	offsets []byte // int32 little-endian, of strings and lists
	data    []byte // numbers, bits of bools, bytes of strings
	kids    []*column
}

func newColumn(f arrow.Field) *column {
	c := &column{field: f}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		for _, k := range t.Fields() {
			c.kids = append(c.kids, newColumn(k))
		}
	case *arrow.ListType:
		c.kids = []*column{newColumn(t.ElemField())}
	case *arrow.BooleanType, *arrow.StringType:
	case arrow.FixedWidthDataType:
		c.width = t.Bytes()
	}
	c.reset()
	return c
}

// reset empties the column.
func (c *column) reset() {
	c.n, c.nulls = 0, 0
	c.valid, c.data = c.valid[:0], c.data[:0]
	switch c.field.Type.(type) {
	case *arrow.ListType, *arrow.StringType:
		c.offsets = append(c.offsets[:0], 0, 0, 0, 0)
	}
	for _, k := range c.kids {
		k.reset()
	}
}

// size returns the bytes that the column holds.
func (c *column) size() int {
	n := len(c.valid) + len(c.offsets) + len(c.data)
	for _, k := range c.kids {
		n += k.size()
	}
	return n
}

func appendBit(b []byte, i int, v bool) []byte {
	if i%8 == 0 {
		b = append(b, 0)
	}
	if v {
		b[i/8] |= 1 << (i % 8)
	}
	return b
}

// end completes a value by its validity.
func (c *column) end(valid bool) {
	if c.field.Nullable {
		c.valid = appendBit(c.valid, c.n, valid)
	}
	if !valid {
		c.nulls++
	}
	c.n++
}

// number appends v in the width of the column.
func (c *column) number(v uint64) {
	switch c.width {
	case 1:
		c.data = append(c.data, byte(v))
	case 4:
		c.data = binary.LittleEndian.AppendUint32(c.data, uint32(v))
	default:
		c.data = binary.LittleEndian.AppendUint64(c.data, v)
	}
	c.end(true)
}

func (c *column) bool(v bool) {
	c.data = appendBit(c.data, c.n, v)
	c.end(true)
}

func (c *column) string(s string) {
	c.data = appendString(c.data, s)
	c.endText(true)
}

func (c *column) text(s []byte) {
	c.data = appendText(c.data, s)
	c.endText(true)
}

func (c *column) endText(valid bool) {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
	c.end(valid)
}

// null appends a missing value.
func (c *column) null() {
	switch c.field.Type.(type) {
	case *arrow.ListType:
		c.endList(false)
	case *arrow.StringType:
		c.endText(false)
	case *arrow.BooleanType:
		c.data = appendBit(c.data, c.n, false)
		c.end(false)
	default:
		c.data = append(c.data, make([]byte, c.width)...)
		c.end(false)
	}
}

func (c *column) float(v float64) { c.number(math.Float64bits(v)) }

// optional appends s; null for "".
func (c *column) optional(s string) {
	if s == "" {
		c.null()
	} else {
		c.string(s)
	}
}

// count appends a number that may be missing.
func (c *column) count(v export.Count) {
	if v.OK {
		c.number(uint64(v.V))
	} else {
		c.null()
	}
}

// endList makes a list of the values appended to kids[0] since the last list.
func (c *column) endList(valid bool) {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(c.kids[0].n))
	c.end(valid)
}

// array returns the values as Arrow has them. They are good until the column
// is changed.
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
	for _, k := range c.kids {
		kids = append(kids, k.array())
	}
	return array.NewData(c.field.Type, c.n, buffers, kids, c.nulls, 0)
}
