package columnar

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	pqschema "github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/writeorder"
)

// NewParquetWriter returns a Writer of Parquet to w, which it buffers.
func NewParquetWriter(w io.Writer) (*Writer, error) {
	schema := newSchema(fileMetadata{})
	out := &parquetSink{file: newCountingWriter(w)}
	root, err := parquetGroup("schema", parquet.Repetitions.Repeated, schema.Fields())
	if err != nil {
		return nil, err
	}
	err = guard(func() error {
		// Without a copy of the Arrow schema: where there is one, pyarrow takes
		// the metadata from it, which were written before pa.run was known.
		out.w = file.NewParquetWriter(out.file, root, file.WithWriterProps(parquetProperties()),
			file.WithWriteMetadata(metadata.KeyValueMetadata{}))
		return out.w.AppendKeyValueMetadata(versionKey, Version)
	})
	if err != nil {
		return nil, err
	}
	return &Writer{calls: writeorder.Checker{Format: "Parquet"}, sink: out, batch: newBatch(schema)}, nil
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

// parquetGroup returns the node of a Parquet schema that holds fields.
func parquetGroup(name string, repetition parquet.Repetition, fields []arrow.Field) (*pqschema.GroupNode, error) {
	var nodes pqschema.FieldList
	for _, f := range fields {
		n, err := parquetNode(f)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return pqschema.NewGroupNode(name, repetition, nodes, -1)
}

// parquetNode returns the node of a Parquet schema for a field of newSchema.
func parquetNode(f arrow.Field) (pqschema.Node, error) {
	repetition := parquet.Repetitions.Required
	if f.Nullable {
		repetition = parquet.Repetitions.Optional
	}
	kind := parquet.Types.Int32
	var logical pqschema.LogicalType = pqschema.NoLogicalType{}
	switch t := f.Type.(type) {
	case *arrow.ListType:
		element, err := parquetNode(t.ElemField())
		if err != nil {
			return nil, err
		}
		return pqschema.ListOfWithName(f.Name, element, repetition, -1)
	case *arrow.StructType:
		return parquetGroup(f.Name, repetition, t.Fields())
	case *arrow.StringType:
		kind, logical = parquet.Types.ByteArray, pqschema.StringLogicalType{}
	case *arrow.BooleanType:
		kind = parquet.Types.Boolean
	case arrow.FixedWidthDataType:
		if t.BitWidth() == 64 {
			kind = parquet.Types.Int64
		}
		logical = pqschema.NewIntLogicalType(int8(t.BitWidth()), t.ID() == arrow.INT64)
	}
	return pqschema.NewPrimitiveNodeLogical(f.Name, repetition, logical, kind, -1, -1)
}

// A parquetSink writes each batch as a row group. Package pqarrow would do it too, but
// its imports, all functions of Arrow and a server, double the size of the programs.
type parquetSink struct {
	file *countingWriter
	w    *file.Writer
}

func (s *parquetSink) write(rec arrow.Record) error {
	group := s.w.AppendRowGroup()
	for _, column := range rec.Columns() {
		list, inList := column.(*array.List)
		values := column
		if inList {
			values = list.ListValues()
		}
		leaves := []arrow.Array{values}
		if elements, ok := values.(*array.Struct); ok {
			leaves = leaves[:0]
			for i := range elements.NumField() {
				leaves = append(leaves, elements.Field(i))
			}
		}
		for _, leaf := range leaves {
			w, err := group.NextColumn()
			if err == nil {
				err = writeLeaf(w, list, leaf)
			}
			if err != nil {
				return err
			}
		}
	}
	return group.Close()
}

// writeLeaf writes values as a column of the file. If list is not nil, values holds one
// value for each element of list.
func writeLeaf(w file.ColumnChunkWriter, list *array.List, values arrow.Array) error {
	c := leafWriter{values: values}
	if list != nil {
		var err error
		if c.defs, c.reps, err = listLevels(w.Descr(), list, values); err != nil {
			return err
		}
		bits := memory.NewResizableBuffer(memory.DefaultAllocator)
		bits.Resize(int(bitutil.BytesForBits(w.Properties().WriteBatchSize())))
		w.SetBitsBuffer(bits)
	}
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		if values.Len() == 0 {
			_, err := w.WriteBatch(nil, c.defs, c.reps) // WriteBatchSpaced would add statistics
			return err
		}
		return write(w, c, values.(*array.Boolean).Value)
	case *file.Int32ColumnChunkWriter:
		if small, ok := values.(*array.Uint8); ok {
			return write(w, c, func(i int) int32 { return int32(small.Value(i)) })
		}
		return write(w, c, func(i int) int32 { return int32(values.(*array.Uint32).Value(i)) })
	case *file.Int64ColumnChunkWriter:
		if signed, ok := values.(*array.Int64); ok {
			return write(w, c, signed.Value)
		}
		return write(w, c, func(i int) int64 { return int64(values.(*array.Uint64).Value(i)) })
	case *file.ByteArrayColumnChunkWriter:
		bytes, ends := values.Data().Buffers()[2].Bytes(), values.(*array.String).ValueOffsets()
		return write(w, c, func(i int) parquet.ByteArray { return bytes[ends[i]:ends[i+1]] })
	}
	return fmt.Errorf("a column of type %s", w.Type())
}

// A leafWriter has the values of a column and, of one in a list, its levels.
type leafWriter struct {
	values     arrow.Array
	defs, reps []int16
}

// write writes the values of c to w.
func write[T any](w interface {
	WriteBatch(values []T, defs, reps []int16) (int64, error)
	WriteBatchSpaced(values []T, defs, reps []int16, valid []byte, validOffset int64)
}, c leafWriter, value func(i int) T,
) error {
	all := make([]T, c.values.Len())
	for i := range all {
		all[i] = value(i)
	}
	if c.defs != nil {
		w.WriteBatchSpaced(all, c.defs, c.reps, c.values.NullBitmapBytes(), 0)
		return nil
	}
	_, err := w.WriteBatch(all, c.defs, c.reps)
	return err
}

// listLevels returns the definition and repetition levels of a column with one value for
// each element of list. Elements are never null; their values may be.
func listLevels(col *pqschema.Column, list *array.List, values arrow.Array) (defs, reps []int16, err error) {
	shape, err := shapeOf(col)
	if err != nil {
		return nil, nil, err
	}
	add := func(def, rep int) { defs, reps = append(defs, int16(def)), append(reps, int16(rep)) }
	for row := range list.Len() {
		from, to := list.ValueOffsets(row)
		if list.IsNull(row) {
			add(shape.list-1, 0)
		} else if from == to {
			add(shape.list, 0)
		}
		for i := from; i < to; i++ {
			def := shape.maxDef
			if values.IsNull(int(i)) {
				def--
			}
			add(def, int(min(i-from, 1)))
		}
	}
	return defs, reps, nil
}

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
