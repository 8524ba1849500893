package columnar

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// appendDataPageHeader appends the header of a page of values, in Thrift's compact protocol.
func appendDataPageHeader(b []byte, uncompressed, compressed, levels, encoding int, stats metadata.EncodedStatistics) []byte {
	t := thriftWriter{b: b}
	t.int32(1, 0) // DATA_PAGE
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
	t.int32(1, 2) // DICTIONARY_PAGE
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
	thriftInt32  = 5
	thriftInt64  = 6
	thriftBinary = 8
	thriftStruct = 12
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
