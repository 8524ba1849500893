package columnar

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// A vector holds decoded values of a column, from any kind of file. They have been
// checked: offsets never decrease, and end within text and children; all children of a struct
// have n values.
type vector struct {
	n          int
	nulls      []bool    // nil: none
	nullMemory []bool    // memory of nulls, which leaf uses again
	nums       []uint64  // integers, with their sign extended, and bools
	text       []byte    // of strings
	offsets    []int     // n+1, of strings and lists
	children   []*vector // the element of a list, the fields of a struct; nil for a field that the file lacks
}

func (v *vector) null(i int) bool { return v.nulls != nil && v.nulls[i] }

// num returns the number i; 0 for null.
func (v *vector) num(i int) uint64 {
	if v == nil || v.null(i) {
		return 0
	}
	return v.nums[i]
}

// bytes returns string i as stored in the file; nil for null.
func (v *vector) bytes(i int) []byte {
	if v == nil || v.null(i) {
		return nil
	}
	return v.text[v.offsets[i]:v.offsets[i+1]:v.offsets[i+1]]
}

// list returns the range of the elements of list i; ok is false for null.
func (v *vector) list(i int) (from, to int, ok bool) {
	if v == nil || v.null(i) {
		return 0, 0, false
	}
	return v.offsets[i], v.offsets[i+1], true
}

// A class groups the types that can hold the same values.
type class int

const (
	classOther class = iota
	classInteger
	classBool
	classText
	classList
	classStruct
)

func classOf(t arrow.DataType) class {
	switch t.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return classInteger
	case arrow.BOOL:
		return classBool
	case arrow.STRING, arrow.LARGE_STRING:
		return classText
	case arrow.LIST, arrow.LARGE_LIST:
		return classList
	case arrow.STRUCT:
		return classStruct
	}
	return classOther
}

// newVector copies data into a vector. want is the type in the schema. data may have
// another type of the same class, because other tools convert types. newVector returns an
// error for inconsistent data.
func newVector(data arrow.ArrayData, want arrow.DataType) (*vector, error) {
	have := data.DataType()
	if classOf(have) != classOf(want) {
		return nil, fmt.Errorf("expected %s, found %s; rewrite it with that type, or as Parquet", want, have)
	}
	n, off := data.Len(), data.Offset()
	if n < 0 || off < 0 || n > math.MaxInt32 || off > math.MaxInt32 {
		return nil, fmt.Errorf("%d values from %d on", n, off)
	}
	v := &vector{n: n}
	buffers := data.Buffers()
	if err := v.setNulls(data.NullN(), buffers, off); err != nil {
		return nil, err
	}
	switch classOf(have) {
	case classInteger:
		return v, v.setIntegers(have, buffers, off)
	case classBool:
		return v, v.setBools(buffers, off)
	case classText:
		return v, v.setTexts(have, buffers, off)
	case classList:
		return v, v.setLists(data, want, off)
	}
	return v, v.setStruct(data, want, off)
}

// errShort reports a buffer that is too short; what names it.
func errShort(what string) error { return fmt.Errorf("the buffer of its %s is too short", what) }

func bytesOf(buffers []*memory.Buffer, i int) []byte {
	if i >= len(buffers) || buffers[i] == nil {
		return nil
	}
	return buffers[i].Bytes()
}

func (v *vector) setNulls(count int, buffers []*memory.Buffer, off int) error {
	b := bytesOf(buffers, 0)
	if count == 0 || len(b) == 0 || v.n == 0 {
		return nil
	}
	if (off+v.n+7)/8 > len(b) {
		return errShort("validity")
	}
	v.nulls = make([]bool, v.n)
	for i := range v.nulls {
		v.nulls[i] = !bitutil.BitIsSet(b, off+i)
	}
	return nil
}

func (v *vector) setIntegers(t arrow.DataType, buffers []*memory.Buffer, off int) error {
	width := t.(arrow.FixedWidthDataType).Bytes()
	b := bytesOf(buffers, 1)
	if (off+v.n)*width > len(b) {
		return errShort("values")
	}
	b = b[off*width:]
	v.nums = make([]uint64, v.n)
	for i := range v.nums {
		switch t.ID() {
		case arrow.UINT8:
			v.nums[i] = uint64(b[i])
		case arrow.INT8:
			v.nums[i] = uint64(int8(b[i]))
		case arrow.UINT16:
			v.nums[i] = uint64(binary.LittleEndian.Uint16(b[2*i:]))
		case arrow.INT16:
			v.nums[i] = uint64(int16(binary.LittleEndian.Uint16(b[2*i:])))
		case arrow.UINT32:
			v.nums[i] = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		case arrow.INT32:
			v.nums[i] = uint64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		default:
			v.nums[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
	return nil
}

func (v *vector) setBools(buffers []*memory.Buffer, off int) error {
	b := bytesOf(buffers, 1)
	if (off+v.n+7)/8 > len(b) {
		return errShort("values")
	}
	v.nums = make([]uint64, v.n)
	for i := range v.nums {
		if bitutil.BitIsSet(b, off+i) {
			v.nums[i] = 1
		}
	}
	return nil
}

// setOffsets reads n+1 offsets that end within size.
func (v *vector) setOffsets(large bool, buffers []*memory.Buffer, off, size int) error {
	v.offsets = make([]int, v.n+1)
	if v.n == 0 {
		return nil // Arrow allows an empty buffer then
	}
	width := 4
	if large {
		width = 8
	}
	b := bytesOf(buffers, 1)
	if (off+v.n+1)*width > len(b) {
		return errShort("offsets")
	}
	b = b[off*width:]
	last := uint64(0)
	for i := range v.offsets {
		var x uint64
		if large {
			x = binary.LittleEndian.Uint64(b[8*i:])
		} else {
			x = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		}
		if x < last || x > uint64(size) {
			return fmt.Errorf("offset %d of it is %d, after %d and with %d values", i, x, last, size)
		}
		last = x
		v.offsets[i] = int(x)
	}
	return nil
}

func (v *vector) setTexts(t arrow.DataType, buffers []*memory.Buffer, off int) error {
	v.text = bytesOf(buffers, 2)
	return v.setOffsets(t.ID() == arrow.LARGE_STRING, buffers, off, len(v.text))
}

func (v *vector) setLists(data arrow.ArrayData, want arrow.DataType, off int) error {
	if len(data.Children()) != 1 {
		return fmt.Errorf("a list has %d children", len(data.Children()))
	}
	child := data.Children()[0]
	if child.Len() < 0 {
		return fmt.Errorf("a list has %d elements", child.Len())
	}
	if err := v.setOffsets(data.DataType().ID() == arrow.LARGE_LIST, data.Buffers(), off, child.Len()); err != nil {
		return err
	}
	if first, last := v.offsets[0], v.offsets[v.n]; last-first < child.Len() { // of a slice
		child = array.NewSliceData(child, int64(first), int64(last))
		for i := range v.offsets {
			v.offsets[i] -= first
		}
	}
	element, err := newVector(child, want.(arrow.ListLikeType).Elem())
	if err != nil {
		return fmt.Errorf("its elements: %w", err)
	}
	v.children = []*vector{element}
	return nil
}

// setStruct copies the fields of want, by name.
func (v *vector) setStruct(data arrow.ArrayData, want arrow.DataType, off int) error {
	have := data.DataType().(*arrow.StructType)
	if len(data.Children()) != have.NumFields() {
		return fmt.Errorf("a struct of %d fields has %d children", have.NumFields(), len(data.Children()))
	}
	for _, f := range want.(*arrow.StructType).Fields() {
		i, ok := have.FieldIdx(f.Name)
		if !ok {
			return fmt.Errorf("field %q is missing", f.Name)
		}
		kid := data.Children()[i]
		// Arrow leaves the offset of a sliced struct out of its fields.
		if kid.Offset() < 0 || kid.Len() < 0 || kid.Len() > math.MaxInt32 || off+v.n > kid.Len() {
			return fmt.Errorf("field %q has %d values for %d", f.Name, kid.Len(), off+v.n)
		}
		if kid.Len() > v.n {
			kid = array.NewSliceData(kid, int64(off), int64(off+v.n))
		}
		k, err := newVector(kid, f.Type)
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		v.children = append(v.children, k)
	}
	return nil
}

// slice returns n values, from index off on.
func (v *vector) slice(off, n int) *vector {
	s := *v
	s.n = n
	if v.nulls != nil {
		s.nulls = v.nulls[off : off+n]
	}
	switch {
	case v.offsets != nil:
		s.offsets = v.offsets[off : off+n+1]
	case v.nums != nil:
		s.nums = v.nums[off : off+n]
	}
	return &s
}

// reset removes all values and keeps the memory. offsets says whether v has offsets.
func (v *vector) reset(offsets bool) {
	*v = vector{nums: v.nums[:0], text: v.text[:0], offsets: v.offsets[:0], nullMemory: v.reusableNulls()}
	if offsets {
		v.offsets = append(v.offsets, 0)
	}
}

// reusableNulls returns the memory of nulls for the next rows.
func (v *vector) reusableNulls() []bool {
	if v.nulls != nil {
		return v.nulls[:0]
	}
	return v.nullMemory
}

// setNull marks value i, the last value, as null.
func (v *vector) setNull(i int) {
	if v.nulls == nil && v.nullMemory != nil {
		v.nulls, v.nullMemory = v.nullMemory, nil
	}
	v.growNulls(i)
	v.nulls = append(v.nulls[:i], true)
}

// growNulls extends nulls to n values. The new values are not null.
func (v *vector) growNulls(n int) {
	if from := len(v.nulls); from < n {
		v.nulls = slices.Grow(v.nulls, n-from)[:n]
		clear(v.nulls[from:])
	}
}

func (v *vector) appendText(b []byte) {
	v.text = append(v.text, b...)
	v.offsets = append(v.offsets, len(v.text))
}
