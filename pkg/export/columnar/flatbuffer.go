package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Arrow's metadata are FlatBuffers, which arrow v15 reads without checks: a damaged count
// makes it allocate so much memory that the process dies. This file checks the counts
// first.
//
//	table:  soffset(4) to the vtable, fields…
//	vtable: size(2) size of the table(2), then the offset(2) of each field, 0 for an absent field
//	vector: count(4) elements…; a uoffset(4) refers to a table, vector or string

var errFlat = errors.New("its metadata are damaged")

// A flatReader checks a FlatBuffer. It keeps the first error.
type flatReader struct {
	b      []byte
	fields int // fields of the schema so far
	err    error
}

// Bounds of a schema.
const (
	maxFlatFields = 10_000
	maxFlatDepth  = 32
)

// Fields of the checked tables, by their position in the vtable.
const (
	footerSchema       = 1
	footerDictionaries = 2
	footerBatches      = 3
	schemaFields       = 1
	schemaMetadata     = 2
	fieldTypeType      = 2
	fieldChildren      = 5
	fieldMetadata      = 6

	typeUnion  = 14 // of fieldTypeType
	blockBytes = 24
)

// checkArrowFooter checks the footer of an Arrow file.
func checkArrowFooter(b []byte) error {
	f := flatReader{b: b}
	root := f.follow(0)
	f.vector(root, footerDictionaries, blockBytes)
	f.vector(root, footerBatches, blockBytes)
	schema, ok := f.field(root, footerSchema)
	if !ok {
		f.fail()
	}
	table := f.follow(schema)
	f.vector(table, schemaMetadata, 4)
	f.children(table, schemaFields, 0)
	return f.err
}

func (f *flatReader) fail() {
	if f.err == nil {
		f.err = errFlat
	}
}

// has reports whether b holds n bytes from pos on. It sets err otherwise.
func (f *flatReader) has(pos, n int) bool {
	if f.err != nil || pos < 0 || n < 0 || pos > len(f.b) || n > len(f.b)-pos {
		f.fail()
		return false
	}
	return true
}

// follow returns the position that the uoffset at pos refers to.
func (f *flatReader) follow(pos int) int {
	if !f.has(pos, 4) {
		return 0
	}
	return pos + int(binary.LittleEndian.Uint32(f.b[pos:]))
}

// field returns the position of field i of the table; ok is false if the field is absent.
func (f *flatReader) field(table, i int) (pos int, ok bool) {
	if !f.has(table, 4) {
		return 0, false
	}
	vtable := table - int(int32(binary.LittleEndian.Uint32(f.b[table:])))
	if !f.has(vtable, 4) {
		return 0, false
	}
	size := int(binary.LittleEndian.Uint16(f.b[vtable:]))
	if !f.has(vtable, size) || 4+2*i+2 > size {
		return 0, false
	}
	off := int(binary.LittleEndian.Uint16(f.b[vtable+4+2*i:]))
	return table + off, off != 0
}

// vector checks that field i of the table is a vector whose elements have the given number
// of bytes. It returns the position of the first element and the number of elements.
func (f *flatReader) vector(table, i, bytes int) (first, n int) {
	pos, ok := f.field(table, i)
	if !ok {
		return 0, 0
	}
	at := f.follow(pos)
	if !f.has(at, 4) {
		return 0, 0
	}
	n = int(binary.LittleEndian.Uint32(f.b[at:]))
	if n > len(f.b) || !f.has(at+4, n*bytes) {
		f.fail()
		return 0, 0
	}
	return at + 4, n
}

// children checks a vector of fields.
func (f *flatReader) children(table, i, depth int) {
	first, n := f.vector(table, i, 4)
	if f.fields += n; f.fields > maxFlatFields || depth > maxFlatDepth {
		f.fail()
	}
	for k := 0; k < n && f.err == nil; k++ {
		child := f.follow(first + 4*k)
		if typ, ok := f.field(child, fieldTypeType); ok && f.has(typ, 1) && f.b[typ] == typeUnion {
			f.err = fmt.Errorf("a column is a union, which is not supported")
		}
		f.vector(child, fieldMetadata, 4)
		f.children(child, fieldChildren, depth+1)
	}
}
