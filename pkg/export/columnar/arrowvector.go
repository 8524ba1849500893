package columnar

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

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

// An arrowVector is a vector that is filled from the buffers of an Arrow array.
type arrowVector struct{ *pages.Vector }

// newVector copies data into a vector. want is the type in the schema. data may have
// another type of the same class, because other tools convert types. newVector returns an
// error for inconsistent data.
func newVector(data arrow.ArrayData, want arrow.DataType) (*pages.Vector, error) {
	have := data.DataType()
	if classOf(have) != classOf(want) {
		return nil, fmt.Errorf("expected %s, found %s; rewrite it with that type, or as Parquet", want, have)
	}
	n, off := data.Len(), data.Offset()
	if n < 0 || off < 0 || n > math.MaxInt32 || off > math.MaxInt32 {
		return nil, fmt.Errorf("%d values from %d on", n, off)
	}
	v := arrowVector{&pages.Vector{N: n}}
	buffers := data.Buffers()
	if err := v.setNulls(data.NullN(), buffers, off); err != nil {
		return nil, err
	}
	switch classOf(have) {
	case classInteger:
		return v.Vector, v.setIntegers(have, buffers, off)
	case classBool:
		return v.Vector, v.setBools(buffers, off)
	case classText:
		return v.Vector, v.setTexts(have, buffers, off)
	case classList:
		return v.Vector, v.setLists(data, want, off)
	}
	return v.Vector, v.setStruct(data, want, off)
}

// errShort reports a buffer that is too short; what names it.
func errShort(what string) error { return fmt.Errorf("the buffer of its %s is too short", what) }

func bytesOf(buffers []*memory.Buffer, i int) []byte {
	if i >= len(buffers) || buffers[i] == nil {
		return nil
	}
	return buffers[i].Bytes()
}

func (v arrowVector) setNulls(count int, buffers []*memory.Buffer, off int) error {
	b := bytesOf(buffers, 0)
	if count == 0 || len(b) == 0 || v.N == 0 {
		return nil
	}
	if (off+v.N+7)/8 > len(b) {
		return errShort("validity")
	}
	v.Nulls = make([]bool, v.N)
	for i := range v.Nulls {
		v.Nulls[i] = !bitutil.BitIsSet(b, off+i)
	}
	return nil
}

func (v arrowVector) setIntegers(t arrow.DataType, buffers []*memory.Buffer, off int) error {
	width := t.(arrow.FixedWidthDataType).Bytes()
	b := bytesOf(buffers, 1)
	if (off+v.N)*width > len(b) {
		return errShort("values")
	}
	b = b[off*width:]
	v.Nums, v.Signed = make([]uint64, v.N), !arrow.IsUnsignedInteger(t.ID())
	unused := 64 - 8*width // high bits, to be extended by the sign
	for i := range v.Nums {
		x := number(b, i, width)
		if v.Signed {
			x = uint64(int64(x<<unused) >> unused)
		}
		v.Nums[i] = x
	}
	return nil
}

// number returns number i of b, of width bytes each.
func number(b []byte, i, width int) uint64 {
	switch width {
	case 8:
		return binary.LittleEndian.Uint64(b[8*i:])
	case 4:
		return uint64(binary.LittleEndian.Uint32(b[4*i:]))
	case 2:
		return uint64(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return uint64(b[i])
}

func (v arrowVector) setBools(buffers []*memory.Buffer, off int) error {
	b := bytesOf(buffers, 1)
	if (off+v.N+7)/8 > len(b) {
		return errShort("values")
	}
	v.Nums = make([]uint64, v.N)
	for i := range v.Nums {
		if bitutil.BitIsSet(b, off+i) {
			v.Nums[i] = 1
		}
	}
	return nil
}

// setOffsets reads n+1 offsets that end within size.
func (v arrowVector) setOffsets(large bool, buffers []*memory.Buffer, off, size int) error {
	v.Offsets = make([]int, v.N+1)
	if v.N == 0 {
		return nil // Arrow allows an empty buffer then
	}
	width := 4
	if large {
		width = 8
	}
	b := bytesOf(buffers, 1)
	if (off+v.N+1)*width > len(b) {
		return errShort("offsets")
	}
	b = b[off*width:]
	last := uint64(0)
	for i := range v.Offsets {
		x := number(b, i, width)
		if x < last || x > uint64(size) {
			return fmt.Errorf("offset %d of it is %d, after %d and with %d values", i, x, last, size)
		}
		last = x
		v.Offsets[i] = int(x)
	}
	return nil
}

func (v arrowVector) setTexts(t arrow.DataType, buffers []*memory.Buffer, off int) error {
	v.Text = bytesOf(buffers, 2)
	return v.setOffsets(t.ID() == arrow.LARGE_STRING, buffers, off, len(v.Text))
}

func (v arrowVector) setLists(data arrow.ArrayData, want arrow.DataType, off int) error {
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
	if first, last := v.Offsets[0], v.Offsets[v.N]; last-first < child.Len() { // of a slice
		child = array.NewSliceData(child, int64(first), int64(last))
		for i := range v.Offsets {
			v.Offsets[i] -= first
		}
	}
	element, err := newVector(child, want.(arrow.ListLikeType).Elem())
	if err != nil {
		return fmt.Errorf("its elements: %w", err)
	}
	v.Children = []*pages.Vector{element}
	return nil
}

// setStruct copies the fields of want, by name.
func (v arrowVector) setStruct(data arrow.ArrayData, want arrow.DataType, off int) error {
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
		if kid.Offset() < 0 || kid.Len() < 0 || kid.Len() > math.MaxInt32 || off+v.N > kid.Len() {
			return fmt.Errorf("field %q has %d values for %d", f.Name, kid.Len(), off+v.N)
		}
		if kid.Len() > v.N {
			kid = array.NewSliceData(kid, int64(off), int64(off+v.N))
		}
		k, err := newVector(kid, f.Type)
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		v.Children = append(v.Children, k)
	}
	return nil
}
