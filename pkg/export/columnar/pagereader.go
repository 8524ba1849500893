package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// This file reads the pages of Parquet columns. Arrow v15's reader is not used: each of its
// columns keeps a buffer of compressed bytes, and a buffer of 16 KiB for headers. A merge has
// all columns of all files open at the same time.

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

// A pageReader reads the pages of a column of a row group.
type pageReader struct {
	src        io.ReaderAt
	at, end    int64 // in src, of the next page and of the column
	left       int64 // values that no page has held yet
	skip       int64 // values, with nulls, whose pages need not be decompressed
	skipped    bool  // the last page was not decompressed
	zstd       bool  // the codec is zstd
	startsOnly bool  // large pages of zstd are decompressed as far as their first block goes
	decode     decompressor
	maxBytes   int64 // of a page

	header pageHeader
	data   []byte // the decompressed page; the next page uses its memory again
}

// open makes the reader read the pages that p names, in the file src. maxBytes bounds a page.
func (r *pageReader) open(src io.ReaderAt, p *columnPages, maxBytes int64) error {
	if p.err != nil {
		return p.err
	}
	decode, err := decompressorOf(p.codec)
	if err != nil {
		return err
	}
	*r = pageReader{src: src, at: p.offset, end: p.offset + p.size, left: p.values, decode: decode, zstd: p.codec == compress.Codecs.Zstd, maxBytes: maxBytes, data: r.data[:0]}
	return nil
}

// close forgets the file, and keeps the memory.
func (r *pageReader) close() { *r = pageReader{data: r.data[:0]} }

// pageMemory holds buffers that a page needs only while it is decompressed, so that all open
// columns share a few.
var pageMemory = sync.Pool{New: func() any { return new([]byte) }}

// Bounds of the bytes that are read to find the header of a page. A header holds statistics.
const (
	headerBytes    = 4 << 10
	maxHeaderBytes = 16 << 20
)

// next goes to the next page of values or of a dictionary. It returns false at the end of the
// column.
func (r *pageReader) next() (bool, error) {
	compressed := pageMemory.Get().(*[]byte)
	defer pageMemory.Put(compressed)
	for r.left > 0 {
		ok, err := r.readPage(compressed)
		if err != nil || !ok {
			return false, err
		}
		switch r.header.kind {
		case dataPage, dataPageV2:
			r.left -= int64(r.header.values)
			if r.skipped {
				continue
			}
			return true, nil
		case dictionaryPage:
			return true, nil
		}
	}
	return false, nil
}

// readPage reads the next page of any type. It returns false at the end of the file or of the
// column. memory holds the compressed page meanwhile.
func (r *pageReader) readPage(memory *[]byte) (bool, error) {
	size := 0
	var b []byte // from the start of the page on
	for most := int64(headerBytes); ; most *= 2 {
		var err error
		if b, err = r.read(memory, len(b), min(most, r.end-r.at)); err != nil {
			return false, err
		}
		if len(b) == 0 {
			return false, nil
		}
		if r.header, size, err = readPageHeader(b); err == nil {
			break
		}
		if !errors.Is(err, errShortHeader) || int64(len(b)) < most || most >= maxHeaderBytes {
			return false, err
		}
	}
	h := &r.header
	switch {
	case h.compressed < 0 || h.uncompressed < 0 || h.values < 0:
		return false, fmt.Errorf("a page of %d bytes with %d values", h.compressed, h.values)
	case int64(h.uncompressed) > r.maxBytes:
		return false, &tooLargeError{int64(h.uncompressed), r.maxBytes}
	case int64(h.compressed) > r.end-r.at-int64(size):
		return false, errPage
	}
	whole := size + h.compressed
	r.skipped = r.skip > 0 && (h.kind == dataPage || h.kind == dataPageV2) && int64(h.values) <= r.skip
	if r.skipped {
		r.skip -= int64(h.values)
		r.at += int64(whole)
		return true, nil
	}
	if r.startsOnly && r.zstd && h.kind == dataPage && h.uncompressed > zstdBlockBytes {
		b, err := r.read(memory, len(b), int64(max(size+min(h.compressed, zstdBlockBytes+zstdHeaderBytes), len(b))))
		if err != nil {
			return false, err
		}
		r.at += int64(whole)
		return true, r.decompressStart(b[size:])
	}
	b, err := r.read(memory, len(b), int64(max(whole, len(b))))
	if err != nil {
		return false, err
	}
	if len(b) < whole {
		return false, errPage
	}
	r.at += int64(whole)
	return true, r.decompress(b[size:whole])
}

// read returns up to n bytes from at on, in memory, which holds the first have of them.
func (r *pageReader) read(memory *[]byte, have int, n int64) ([]byte, error) {
	if int64(have) >= n {
		return (*memory)[:have], nil
	}
	b := slices.Grow((*memory)[:have], int(n)-have)[:n]
	*memory = b
	k, err := r.src.ReadAt(b[have:], r.at+int64(have))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:have+k], err
}

// decompress sets data from the page b.
func (r *pageReader) decompress(b []byte) error {
	h := &r.header
	levels := 0
	if h.kind == dataPageV2 {
		most := min(len(b), h.uncompressed)
		if h.repLevels < 0 || h.defLevels < 0 || h.repLevels > most || h.defLevels > most-h.repLevels {
			return errPage
		}
		levels = h.repLevels + h.defLevels
	}
	stored := h.stored || r.decode == nil
	if stored && len(b) != h.uncompressed {
		return fmt.Errorf("a page of %d bytes holds %d", h.uncompressed, len(b))
	}
	r.data = slices.Grow(r.data[:0], h.uncompressed+zstdRoom)[:h.uncompressed]
	copy(r.data, b[:levels])
	b = b[levels:]
	rest := r.data[levels : len(r.data) : len(r.data)+zstdRoom]
	if stored {
		copy(rest, b)
		return nil
	}
	if len(b) == 0 && len(rest) == 0 {
		return nil
	}
	decoded, err := r.decode(rest, b)
	if err != nil {
		return err
	}
	if len(decoded) != len(rest) {
		return fmt.Errorf("a page of %d bytes holds %d", h.uncompressed, levels+len(decoded))
	}
	if len(rest) > 0 && &decoded[0] != &rest[0] {
		copy(rest, decoded)
	}
	return nil
}

// zstdBlockBytes is the largest content of a block of zstd.
const zstdBlockBytes = 128 << 10

// zstdHeaderBytes is the largest size of the headers of a frame and of its first block.
const zstdHeaderBytes = 18 + 3

// decompressStart sets data from the first block of the page b, which may be cut after that block.
func (r *pageReader) decompressStart(b []byte) error {
	z, err := pageZstd()
	if err != nil {
		return err
	}
	if b, err = firstZstdBlock(b); err != nil {
		return err
	}
	r.data = slices.Grow(r.data[:0], zstdBlockBytes+zstdRoom)
	r.data, err = z.DecodeAll(b, r.data[:0:zstdBlockBytes+zstdRoom])
	return err
}

// shortZstdHeader begins a frame with a window of one block, without a checksum or the size of the content.
const shortZstdHeader = "\x28\xb5\x2f\xfd\x00\x38"

// firstZstdBlock changes b, a frame of zstd that may be cut after its first block, and returns a frame of this
// block alone. Decoding that frame takes half as long as decoding the start of a stream.
func firstZstdBlock(b []byte) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return nil, err
	}
	if h.Skippable || h.DictionaryID != 0 || !h.FirstBlock.OK {
		return nil, errPage
	}
	size := 3 + h.FirstBlock.CompressedSize
	if h.HeaderSize < len(shortZstdHeader) || size > len(b)-h.HeaderSize {
		return nil, errPage
	}
	b = b[h.HeaderSize-len(shortZstdHeader):][:len(shortZstdHeader)+size]
	copy(b, shortZstdHeader)
	b[len(shortZstdHeader)] |= 1 // the last block
	return b, nil
}

// zstdRoom is the capacity behind the content with which the decoder of zstd need not check each copy.
const zstdRoom = 16

// A decompressor decompresses b into to, which is as long as the content should be, and returns
// the content. It takes no memory for a content that is much longer.
type decompressor func(to, b []byte) ([]byte, error)

// decompressorOf returns the decompressor of a codec; nil for pages that are not compressed.
func decompressorOf(c compress.Compression) (decompressor, error) {
	codec, err := compress.GetCodec(c)
	if err != nil {
		return nil, err
	}
	switch c {
	case compress.Codecs.Uncompressed:
		return nil, nil
	case compress.Codecs.Zstd: // Arrow's would decompress any content whole
		return func(to, b []byte) ([]byte, error) {
			z, err := pageZstd()
			if err != nil {
				return nil, err
			}
			return z.DecodeAll(b, to[:0])
		}, nil
	case compress.Codecs.Snappy:
		return func(to, b []byte) ([]byte, error) {
			// A block begins with the length of its content, which the decoder allocates.
			if n, k := binary.Uvarint(b); k <= 0 || n != uint64(len(to)) {
				return nil, errPage
			}
			return codec.Decode(to, b), nil
		}, nil
	}
	return func(to, b []byte) ([]byte, error) { return codec.Decode(to, b), nil }, nil
}

// pageZstd returns the decoder of pages, which takes no more memory than the capacity that it gets.
// It is for all goroutines.
var pageZstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
})

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

// Further types of fields in Thrift's compact protocol; see thriftWriter.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftDouble = 7
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftUUID   = 13
)

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
