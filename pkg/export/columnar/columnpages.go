package columnar

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// A columnPages says where the pages of a column of a row group are. It takes a tenth of the
// memory of Arrow's metadata, which many open files would hold.
type columnPages struct {
	offset, size int64 // in the file
	values       int64
	nulls        int64 // among values, by the statistics of the footer; −1 if unknown
	decodedBytes int64 // approximate memory of the values, as stated by the file; 0 if unknown
	codec        compress.Compression
	err          error // what is wrong with the metadata of the column
}

// pagesOf returns the place of the pages of a column of a row group, in a file of fileSize bytes.
func pagesOf(meta *metadata.FileMetaData, group *metadata.RowGroupMetaData, column int, fileSize int64) columnPages {
	c, err := group.ColumnChunk(column)
	if err != nil {
		return columnPages{err: err}
	}
	p := columnPages{offset: c.DataPageOffset(), size: c.TotalCompressedSize(), values: c.NumValues(), codec: c.Compression(), nulls: -1}
	if set, err := c.StatsSet(); set && err == nil {
		if stats, err := c.Statistics(); err == nil && stats != nil && stats.HasNullCount() {
			p.nulls = stats.NullCount()
		}
	}
	p.decodedBytes = max(0, p.values) * elementBytes
	if meta.Schema.Column(column).PhysicalType() == parquet.Types.ByteArray {
		p.decodedBytes += max(0, c.TotalUncompressedSize())
	}
	switch {
	case c.CryptoMetadata() != nil:
		p.err = errors.New("the column is encrypted; decrypt the file first")
	case p.offset < 0 || p.size < 0 || p.size > fileSize || p.offset > fileSize-p.size && !c.HasDictionaryPage():
		p.err = fmt.Errorf("its pages are at bytes %d to %d, but the file has %d bytes", p.offset, p.offset+p.size, fileSize)
	}
	if at := c.DictionaryPageOffset(); c.HasDictionaryPage() && at > 0 && at < p.offset {
		p.offset = at
	}
	if meta.WriterVersion().LessThan(metadata.Parquet816FixedVersion) {
		// parquet-mr 1.2.8 and older leave the header of the dictionary out of the size (IMPALA-694).
		const mostHeader = 100
		p.size += min(mostHeader, max(0, fileSize-p.offset-p.size))
	}
	return p
}

// footerProperties returns how Arrow reads a footer. maxBytes bounds each buffer.
func footerProperties(maxBytes int64) *parquet.ReaderProperties {
	return parquet.NewReaderProperties(boundAllocator{memory.DefaultAllocator, maxBytes})
}
