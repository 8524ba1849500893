package pages

import "slices"

// A Vector holds decoded values of a column, from any kind of file. They have been
// checked: Offsets never decrease, and end within Text and Children; all children of a struct
// have N values.
type Vector struct {
	N        int
	Nulls    []bool    // nil: none
	Nums     []uint64  // integers, with their sign extended, and bools
	Signed   bool      // Nums are of a signed type
	Text     []byte    // of strings
	Offsets  []int     // N+1, of strings and lists
	Children []*Vector // the element of a list, the fields of a struct; nil for a field that the file lacks

	nullMemory []bool // memory of Nulls, which a Leaf uses again
}

// Null reports whether value i is null.
func (v *Vector) Null(i int) bool { return v.Nulls != nil && v.Nulls[i] }

// Num returns the number i; 0 for null.
func (v *Vector) Num(i int) uint64 {
	if v == nil || v.Null(i) {
		return 0
	}
	return v.Nums[i]
}

// Bytes returns string i as stored in the file; nil for null.
func (v *Vector) Bytes(i int) []byte {
	if v == nil || v.Null(i) {
		return nil
	}
	return v.Text[v.Offsets[i]:v.Offsets[i+1]:v.Offsets[i+1]]
}

// List returns the range of the elements of list i; ok is false for null.
func (v *Vector) List(i int) (from, to int, ok bool) {
	if v == nil || v.Null(i) {
		return 0, 0, false
	}
	return v.Offsets[i], v.Offsets[i+1], true
}

// Slice returns n values, from index off on.
func (v *Vector) Slice(off, n int) *Vector {
	s := *v
	s.N = n
	if v.Nulls != nil {
		s.Nulls = v.Nulls[off : off+n]
	}
	switch {
	case v.Offsets != nil:
		s.Offsets = v.Offsets[off : off+n+1]
	case v.Nums != nil:
		s.Nums = v.Nums[off : off+n]
	}
	return &s
}

// reset removes all values and keeps the memory. offsets says whether v has offsets.
func (v *Vector) reset(offsets bool) {
	nulls := v.nullMemory
	if v.Nulls != nil {
		nulls = v.Nulls[:0]
	}
	*v = Vector{Nums: v.Nums[:0], Text: v.Text[:0], Offsets: v.Offsets[:0], nullMemory: nulls}
	if offsets {
		v.Offsets = append(v.Offsets, 0)
	}
}

// appendNulls marks the n values after the values of v, which it does not add, as null.
func (v *Vector) appendNulls(n int) {
	if v.Nulls == nil && v.nullMemory != nil {
		v.Nulls, v.nullMemory = v.nullMemory, nil
	}
	v.growNulls(v.N)
	v.Nulls = slices.Grow(v.Nulls[:v.N], n)[:v.N+n]
	fill(v.Nulls[v.N:], true)
}

// growNulls extends Nulls to n values. The new values are not null.
func (v *Vector) growNulls(n int) {
	if from := len(v.Nulls); from < n {
		v.Nulls = slices.Grow(v.Nulls, n-from)[:n]
		clear(v.Nulls[from:])
	}
}

func (v *Vector) appendText(b []byte) {
	v.Text = append(v.Text, b...)
	v.Offsets = append(v.Offsets, len(v.Text))
}
