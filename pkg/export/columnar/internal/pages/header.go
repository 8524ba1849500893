package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// appendDataPageHeader appends the header of a page of values, in Thrift's compact protocol.
func appendDataPageHeader(b []byte, uncompressed, compressed, levels, encoding int, stats metadata.EncodedStatistics) []byte {
	t := thriftWriter{b: b}
	t.int32(1, dataPage)
	t.int32(2, uncompressed)
	t.int32(3, compressed)
	t.begin(5) // DataPageHeader
	t.int32(1, levels)
	t.int32(2, encoding)
	t.int32(3, encodingRLE) // of the definition levels
	t.int32(4, encodingRLE) // of the repetition levels
	t.begin(5)              // Statistics
	if stats.Signed && stats.HasMax {
		t.binary(1, stats.Max) // for old readers
	}
	if stats.Signed && stats.HasMin {
		t.binary(2, stats.Min)
	}
	t.int64(3, stats.NullCount)
	if stats.HasMax {
		t.binary(5, stats.Max)
	}
	if stats.HasMin {
		t.binary(6, stats.Min)
	}
	t.end()
	t.end()
	t.end()
	return t.b
}

// appendDictionaryPageHeader appends the header of a page with a dictionary of n values.
func appendDictionaryPageHeader(b []byte, uncompressed, compressed, n int) []byte {
	t := thriftWriter{b: b}
	t.int32(1, dictionaryPage)
	t.int32(2, uncompressed)
	t.int32(3, compressed)
	t.begin(7) // DictionaryPageHeader
	t.int32(1, n)
	t.int32(2, encodingPlain)
	t.end()
	t.end()
	return t.b
}

// A thriftWriter appends a struct in Thrift's compact protocol. Each field has its number in
// the struct; the numbers ascend, by at most 15.
type thriftWriter struct {
	b     []byte
	last  int    // number of the last field
	outer [4]int // last of the enclosing structs
	depth int
}

// Types of fields in Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

func (t *thriftWriter) field(number, kind int) {
	t.b = append(t.b, byte((number-t.last)<<4|kind))
	t.last = number
}

func (t *thriftWriter) int32(number, v int) {
	t.field(number, thriftInt32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thriftWriter) int64(number int, v int64) {
	t.field(number, thriftInt64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thriftWriter) binary(number int, v []byte) {
	t.field(number, thriftBinary)
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

// begin starts a struct as a field.
func (t *thriftWriter) begin(number int) {
	t.field(number, thriftStruct)
	t.outer[t.depth] = t.last
	t.depth++
	t.last = 0
}

// end ends the struct that begin started, or the whole.
func (t *thriftWriter) end() {
	t.b = append(t.b, 0)
	if t.depth > 0 {
		t.depth--
		t.last = t.outer[t.depth]
	}
}

// Types of pages, with their numbers in the file.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPageV2     = 3
)

// A pageHeader is the header of a page.
type pageHeader struct {
	kind                     int
	compressed, uncompressed int // bytes after the header
	values                   int // with nulls
	encoding                 int
	// repLevels and defLevels are the encodings of the levels, or in a page of version 2 the
	// bytes of the levels, which are not compressed.
	repLevels, defLevels int
	stored               bool // a page of version 2 without compression
}

// errShortHeader reports a header that is longer than the bytes.
var errShortHeader = errors.New("the header of a page is cut")

// readPageHeader reads the header of a page at the start of b, and returns its length. The
// error is errShortHeader if b ends before the header.
func readPageHeader(b []byte) (h pageHeader, n int, err error) {
	t := thriftReader{b: b}
	h.kind, h.compressed, h.uncompressed = -1, -1, -1
	t.structure(func(number, kind int) {
		switch {
		case number == 1 && kind == thriftInt32:
			h.kind = t.int()
		case number == 2 && kind == thriftInt32:
			h.uncompressed = t.int()
		case number == 3 && kind == thriftInt32:
			h.compressed = t.int()
		case (number == 5 || number == 7) && kind == thriftStruct:
			t.structure(func(number, kind int) { // DataPageHeader and DictionaryPageHeader begin alike
				fields := [...]*int{1: &h.values, 2: &h.encoding, 3: &h.defLevels, 4: &h.repLevels}
				t.intInto(fields[:], number, kind)
			})
		case number == 8 && kind == thriftStruct:
			t.structure(func(number, kind int) {
				if number == 7 && (kind == thriftTrue || kind == thriftFalse) {
					h.stored = kind == thriftFalse
					return
				}
				fields := [...]*int{1: &h.values, 4: &h.encoding, 5: &h.defLevels, 6: &h.repLevels}
				t.intInto(fields[:], number, kind)
			})
		default:
			t.skip(kind)
		}
	})
	return h, len(b) - len(t.b), t.err
}

// A thriftReader reads a struct in Thrift's compact protocol. It keeps the first error.
type thriftReader struct {
	b     []byte
	depth int
	err   error
}

// maxThriftDepth bounds the structs and lists within each other.
const maxThriftDepth = 16

// structure calls field for each field of a struct, with its number and type. field reads the
// value.
func (t *thriftReader) structure(field func(number, kind int)) {
	if t.depth++; t.depth > maxThriftDepth {
		t.fail(errors.New("the header of a page is nested too deeply"))
	}
	defer func() { t.depth-- }()
	number := 0
	for t.err == nil {
		head := t.byte()
		kind := int(head & 15)
		if kind == 0 { // the end, or an error
			return
		}
		if head>>4 > 0 {
			number += int(head >> 4)
		} else {
			number = t.int()
		}
		if t.err == nil {
			field(number, kind)
		}
	}
}

// intInto reads a value into the variable of its number; it skips a value without one.
func (t *thriftReader) intInto(variables []*int, number, kind int) {
	if kind == thriftInt32 && number > 0 && number < len(variables) && variables[number] != nil {
		*variables[number] = t.int()
		return
	}
	t.skip(kind)
}

func (t *thriftReader) fail(err error) {
	if t.err == nil {
		t.err = err
	}
	t.b = nil
}

func (t *thriftReader) byte() byte {
	b := t.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// take returns the next n bytes; nil after an error.
func (t *thriftReader) take(n uint64) []byte {
	if n > uint64(len(t.b)) {
		t.fail(errShortHeader)
		return nil
	}
	b := t.b[:n]
	t.b = t.b[n:]
	return b
}

var errLargeNumber = errors.New("a number in the header of a page is too large")

func (t *thriftReader) uint() uint64 {
	v, n := binary.Uvarint(t.b)
	switch {
	case n == 0:
		t.fail(errShortHeader)
	case n < 0:
		t.fail(errLargeNumber)
	default:
		t.b = t.b[n:]
	}
	return v
}

// int returns the next signed number of 32 bits.
func (t *thriftReader) int() int {
	v := t.uint()
	if v > math.MaxUint32 {
		t.fail(errLargeNumber)
		return 0
	}
	return int(int64(v>>1) ^ -int64(v&1))
}

// skip skips a value of a type.
func (t *thriftReader) skip(kind int) {
	switch kind {
	case thriftTrue, thriftFalse: // the type is the value
	case thriftByte:
		t.take(1)
	case thriftInt16, thriftInt32, thriftInt64:
		t.uint()
	case thriftDouble:
		t.take(8)
	case thriftUUID:
		t.take(16)
	case thriftBinary:
		t.take(t.uint())
	case thriftStruct:
		t.structure(func(_, kind int) { t.skip(kind) })
	case thriftList, thriftSet:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.uint()
		}
		t.skipElements(n, int(head&15))
	case thriftMap:
		if n := t.uint(); n > 0 {
			kinds := t.byte()
			t.skipElements(n, int(kinds>>4), int(kinds&15))
		}
	default:
		t.fail(fmt.Errorf("the header of a page has a field of type %d", kind))
	}
}

// skipElements skips n elements of a list, or n pairs of a map.
func (t *thriftReader) skipElements(n uint64, kinds ...int) {
	if t.depth++; t.depth > maxThriftDepth {
		t.fail(errors.New("the header of a page is nested too deeply"))
	}
	defer func() { t.depth-- }()
	for ; n > 0 && t.err == nil; n-- {
		for _, kind := range kinds {
			if kind == thriftTrue || kind == thriftFalse { // a byte, other than in a struct
				kind = thriftByte
			}
			t.skip(kind)
		}
	}
}
