package columnar

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/pa-tools/pa/pkg/export"
)

// NewParquetWriter returns a Writer of Parquet to w, which it buffers.
func NewParquetWriter(w io.Writer) (*Writer, error) {
	schema := newSchema(fileMetadata{})
	out := &parquetSink{file: newCountingWriter(w)}
	err := guard(func() (err error) {
		// Without a copy of the Arrow schema: where there is one, pyarrow takes
		// the metadata from it, which were written before pa.run was known.
		out.w, err = pqarrow.NewFileWriter(schema, out.file, parquetProperties(), pqarrow.DefaultWriterProps())
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Writer{format: "Parquet", sink: out, batch: newBatch(schema)}, nil
}

// parquetProperties chooses the encodings. Numbers and texts are PLAIN: with zstd that
// is smaller than DELTA_BINARY_PACKED, which arrow v15 cannot read in lists, and other
// readers cannot read its DELTA_BYTE_ARRAY. Columns with few distinct values have a
// dictionary. Pages are of version 1, because pages of version 2 may split a row.
func parquetProperties() *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithAllocator(memory.DefaultAllocator),
		parquet.WithCompression(compress.Codecs.Zstd),
		// Arrow makes a new compressor for each page. Compressors of higher levels
		// clear megabytes at the start, and gain at most a tenth.
		parquet.WithCompressionLevel(1),
		parquet.WithDictionaryDefault(false),
		parquet.WithEncoding(parquet.Encodings.Plain),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithMaxRowGroupLength(maxBatchRows),
		parquet.WithVersion(parquet.V2_LATEST), // unsigned types of 32 bits
	}
	for _, path := range dictionaryPaths {
		props = append(props, parquet.WithDictionaryFor(path, true))
	}
	return parquet.NewWriterProperties(props...)
}

// dictionaryPaths are the columns of few different values.
var dictionaryPaths = [...]string{
	"status", "phase", "reason", "session_id", "model", "message",
	"inputs.list.element.name", "outputs.list.element.name", "extra.list.element.name",
}

// A parquetSink writes each batch as a row group.
type parquetSink struct {
	file *countingWriter
	w    *pqarrow.FileWriter
}

func (s *parquetSink) write(rec arrow.Record) error { return s.w.Write(rec) }

func (s *parquetSink) close(run *export.Run, t *telemetryBuffer) error {
	m, err := metadataOf(run, t)
	if err != nil {
		return err
	}
	for i, k := range m.keys {
		if err := s.w.AppendKeyValueMetadata(k, m.values[i]); err != nil {
			return err
		}
	}
	if err := s.w.Close(); err != nil {
		return err
	}
	return s.file.w.Flush()
}
