package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/klauspost/compress/zstd"
)

// This file reads the pages of Parquet columns. Arrow v15's reader is not used: each of its
// columns keeps a buffer of compressed bytes, and a buffer of 16 KiB for headers. A merge has
// all columns of all files open at the same time.

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
func (r *pageReader) open(src io.ReaderAt, p *Chunk, maxBytes int64) error {
	if p.Err != nil {
		return p.Err
	}
	decode, err := decompressorOf(p.codec)
	if err != nil {
		return err
	}
	*r = pageReader{src: src, at: p.offset, end: p.offset + p.Size, left: p.Values, decode: decode, zstd: p.codec == compress.Codecs.Zstd, maxBytes: maxBytes, data: r.data[:0]}
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
		return false, &TooLargeError{int64(h.uncompressed), r.maxBytes}
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

// A Chunk says where the pages of a column of a row group are. It takes a tenth of the
// memory of Arrow's metadata, which many open files would hold.
type Chunk struct {
	Size         int64 // of the pages in the file
	Values       int64 // with nulls
	Nulls        int64 // among Values, by the statistics of the footer; −1 if unknown
	DecodedBytes int64 // approximate memory of the values, as stated by the file; 0 if unknown
	Err          error // what is wrong with the metadata of the column

	offset int64 // of the pages in the file
	codec  compress.Compression
}

// ChunkOf returns the place of the pages of a column of a row group, in a file of fileSize bytes.
func ChunkOf(meta *metadata.FileMetaData, group *metadata.RowGroupMetaData, column int, fileSize int64) Chunk {
	c, err := group.ColumnChunk(column)
	if err != nil {
		return Chunk{Err: err}
	}
	p := Chunk{Size: c.TotalCompressedSize(), Values: c.NumValues(), Nulls: -1, offset: c.DataPageOffset(), codec: c.Compression()}
	if set, err := c.StatsSet(); set && err == nil {
		if stats, err := c.Statistics(); err == nil && stats != nil && stats.HasNullCount() {
			p.Nulls = stats.NullCount()
		}
	}
	p.DecodedBytes = max(0, p.Values) * elementBytes
	if meta.Schema.Column(column).PhysicalType() == parquet.Types.ByteArray {
		p.DecodedBytes += max(0, c.TotalUncompressedSize())
	}
	switch {
	case c.CryptoMetadata() != nil:
		p.Err = errors.New("the column is encrypted; decrypt the file first")
	case p.offset < 0 || p.Size < 0 || p.Size > fileSize || p.offset > fileSize-p.Size && !c.HasDictionaryPage():
		p.Err = fmt.Errorf("its pages are at bytes %d to %d, but the file has %d bytes", p.offset, p.offset+p.Size, fileSize)
	}
	if at := c.DictionaryPageOffset(); c.HasDictionaryPage() && at > 0 && at < p.offset {
		p.offset = at
	}
	if meta.WriterVersion().LessThan(metadata.Parquet816FixedVersion) {
		// parquet-mr 1.2.8 and older leave the header of the dictionary out of the size (IMPALA-694).
		const mostHeader = 100
		p.Size += min(mostHeader, max(0, fileSize-p.offset-p.Size))
	}
	return p
}
