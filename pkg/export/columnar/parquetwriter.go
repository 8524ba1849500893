package columnar

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	pqschema "github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/writeorder"
)

// NewParquetWriter returns a Writer of Parquet to w. It buffers its writes to w. deriver
// computes the derived columns; nil leaves them out. A goroutine encodes a row group and
// writes it to w while the next one fills: stop a Writer that is not closed, before using w
// for anything else.
func NewParquetWriter(w io.Writer, deriver export.Deriver) (*Writer, error) {
	schema := newSchema(fileMetadata{}, deriver != nil)
	out := &parquetSink{file: newCountingWriter(w), deriver: deriver}
	root, err := parquetGroupNode("schema", parquet.Repetitions.Repeated, schema.Fields())
	if err != nil {
		return nil, err
	}
	err = catchPanic(func() error {
		// The file has no copy of the Arrow schema: pyarrow would take the metadata from
		// the copy, which is written before pa.run is known.
		out.w = file.NewParquetWriter(out.file, root, file.WithWriterProps(parquetProperties()),
			file.WithWriteMetadata(metadata.KeyValueMetadata{}))
		return out.w.AppendKeyValueMetadata(versionKey, Version)
	})
	if err != nil {
		return nil, err
	}
	b := newBatch(schema, deriver)
	b.maxRows, b.maxBytes = maxGroupRows, maxGroupBytes
	return &Writer{calls: writeorder.Checker{Format: "Parquet"}, sink: out, batch: b, background: true}, nil
}

// parquetProperties returns the encodings and sizes. Numbers and texts are PLAIN: with
// zstd, PLAIN is smaller than DELTA_BINARY_PACKED, which arrow v15 cannot read in lists.
// Other readers cannot read the DELTA_BYTE_ARRAY of arrow v15. Columns with few distinct
// values have a dictionary. Pages have version 1, because pages of version 2 may split a
// row.
func parquetProperties() *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithAllocator(memory.DefaultAllocator),
		parquet.WithCompression(compress.Codecs.Zstd),
		// Arrow creates a compressor for each page. A compressor of a higher level
		// clears megabytes of memory first, and saves at most a tenth of the size.
		parquet.WithCompressionLevel(1),
		parquet.WithDictionaryDefault(false),
		parquet.WithEncoding(parquet.Encodings.Plain),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithMaxRowGroupLength(maxGroupRows),
		parquet.WithDataPageSize(pageBytes),
	}
	for _, path := range dictionaryPaths {
		props = append(props, parquet.WithDictionaryFor(path, true))
	}
	return parquet.NewWriterProperties(props...)
}

// dictionaryPaths are the columns with few distinct values.
var dictionaryPaths = [...]string{
	"experiment", "mode", "value", "status", "phase", "reason", "session_id", "model", "message",
	"error_class", "token_source", "stream_error", "code", "turn", "worker", "conn", "rank", "start_source",
	"inputs.list.element.name", "outputs.list.element.name", "extra.list.element.name",
	"source.list.element", "token_events.list.element", "token_choice.list.element", "token_count.list.element",
}

// pageBytes is the size of a page before compression. It is large because Arrow creates a
// compressor for each page.
const pageBytes = 4 << 20

// Bounds of a row group, before compression. Engines read one row group at a time and skip
// row groups by their statistics. A few large row groups are faster than many small ones.
const (
	maxGroupRows  = 1 << 20
	maxGroupBytes = 32 << 20
)

// parquetGroupNode returns the node of a Parquet schema that holds fields.
func parquetGroupNode(name string, repetition parquet.Repetition, fields []arrow.Field) (*pqschema.GroupNode, error) {
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
		return parquetGroupNode(f.Name, repetition, t.Fields())
	case *arrow.StringType:
		kind, logical = parquet.Types.ByteArray, pqschema.StringLogicalType{}
	case *arrow.BooleanType:
		kind = parquet.Types.Boolean
	case arrow.FixedWidthDataType:
		if t.ID() == arrow.FLOAT64 {
			kind = parquet.Types.Double
			break
		}
		if t.BitWidth() == 64 {
			kind = parquet.Types.Int64
		}
		logical = pqschema.NewIntLogicalType(int8(t.BitWidth()), true)
	}
	return pqschema.NewPrimitiveNodeLogical(f.Name, repetition, logical, kind, -1, -1)
}

// A parquetSink writes each batch as a row group. It does not use package pqarrow, whose
// imports (all compute functions of Arrow and a server) double the size of the programs.
type parquetSink struct {
	file    *countingWriter
	w       *file.Writer
	deriver export.Deriver
	scratch scratch
}

// A scratch holds memory for the values and levels of one column. The next column reuses
// it.
type scratch struct {
	bools      []bool
	int32s     []int32
	int64s     []int64
	floats     []float64
	texts      []parquet.ByteArray
	defs, reps []int16
}

func (s *parquetSink) write(rec arrow.Record) error {
	group := s.w.AppendRowGroup()
	for i, column := range rec.Columns() {
		for _, l := range leavesOf(column, rec.Schema().Field(i).Nullable) {
			w, err := group.NextColumn()
			if err == nil {
				err = l.writeTo(w, &s.scratch)
			}
			if err != nil {
				return err
			}
		}
	}
	return group.Close()
}

// A leafArray is a leaf of a column with its enclosing lists, the outermost first. nullable
// says for each list, and then for the values, whether they can be null.
type leafArray struct {
	lists    []*array.List
	nullable []bool
	values   arrow.Array
}

// leavesOf returns the leaves of a column: one leaf for each field of a list of structs,
// one leaf for any other column.
func leavesOf(column arrow.Array, nullable bool) []leafArray {
	l := leafArray{values: column, nullable: []bool{nullable}}
	for {
		list, ok := l.values.(*array.List)
		if !ok {
			break
		}
		l.lists = append(l.lists, list)
		l.values = list.ListValues()
		l.nullable = append(l.nullable, true) // elements can be null in our schema
	}
	elements, ok := l.values.(*array.Struct)
	if !ok {
		return []leafArray{l}
	}
	var all []leafArray
	for i, f := range elements.DataType().(*arrow.StructType).Fields() {
		k := l
		k.values = elements.Field(i)
		k.nullable = append(slices.Clone(l.nullable), f.Nullable)
		all = append(all, k)
	}
	return all
}

// writeTo writes the leaf as a column of the file.
func (l leafArray) writeTo(w file.ColumnChunkWriter, s *scratch) error {
	c := leafWriter{values: l.values}
	c.defs, c.reps = l.levels(w.Descr(), s)
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		return writeValues(w, c, &s.bools, l.values.(*array.Boolean).Value)
	case *file.Int32ColumnChunkWriter:
		if small, ok := l.values.(*array.Int8); ok {
			return writeValues(w, c, &s.int32s, func(i int) int32 { return int32(small.Value(i)) })
		}
		return writeValues(w, c, &s.int32s, l.values.(*array.Int32).Value)
	case *file.Int64ColumnChunkWriter:
		return writeValues(w, c, &s.int64s, l.values.(*array.Int64).Value)
	case *file.Float64ColumnChunkWriter:
		return writeValues(w, c, &s.floats, l.values.(*array.Float64).Value)
	case *file.ByteArrayColumnChunkWriter:
		bytes, ends := l.values.Data().Buffers()[2].Bytes(), l.values.(*array.String).ValueOffsets()
		return writeValues(w, c, &s.texts, func(i int) parquet.ByteArray { return bytes[ends[i]:ends[i+1]] })
	}
	return fmt.Errorf("columns of type %s cannot be written", w.Type())
}

// A leafWriter holds the values of a leaf, including nulls, and its levels. Levels are nil
// if they are all 0.
type leafWriter struct {
	values     arrow.Array
	defs, reps []int16
}

// writeValues writes the values of c that are not null to w. It does not use
// WriteBatchSpaced, which takes nulls, too, but writes statistics for columns without a
// value.
func writeValues[T any](w interface {
	WriteBatch(values []T, defs, reps []int16) (int64, error)
}, c leafWriter, memory *[]T, value func(i int) T,
) error {
	all := (*memory)[:0]
	for i := range c.values.Len() {
		if c.values.NullN() == 0 || c.values.IsValid(i) {
			all = append(all, value(i))
		}
	}
	*memory = all
	_, err := w.WriteBatch(all, c.defs, c.reps)
	return err
}

// levels returns the definition and repetition levels of the values, in the memory of s.
func (l leafArray) levels(col *pqschema.Column, s *scratch) (defs, reps []int16) {
	most := col.MaxDefinitionLevel()
	if len(l.lists) == 0 {
		if most == 0 {
			return nil, nil
		}
		s.defs = slices.Grow(s.defs[:0], l.values.Len())[:l.values.Len()]
		l.setDefLevels(s.defs, 0, most)
		return s.defs, nil
	}
	outer := l.lists[0]
	n := l.values.Len() + outer.Len()
	if len(l.lists) > 1 {
		n += l.lists[1].Len()
	}
	s.defs, s.reps = slices.Grow(s.defs[:0], n), slices.Grow(s.reps[:0], n)
	defs, reps = s.defs, s.reps
	present := int16(0) // definition level of a list that is present but empty
	if l.nullable[0] {
		present = 1
	}
	for row := range outer.Len() {
		from, to := outer.ValueOffsets(row)
		if outer.IsNull(row) {
			defs, reps = append(defs, present-1), append(reps, 0)
			continue
		}
		if from == to {
			defs, reps = append(defs, present), append(reps, 0)
			continue
		}
		if len(l.lists) == 1 {
			defs, reps = l.appendListLevels(defs, reps, int(from), int(to), most, 0, 1)
			continue
		}
		inner := l.lists[1]
		for i := from; i < to; i++ {
			rep := int16(min(i-from, 1))
			first, last := inner.ValueOffsets(int(i))
			if first == last {
				defs, reps = append(defs, present+2), append(reps, rep)
				continue
			}
			defs, reps = l.appendListLevels(defs, reps, int(first), int(last), most, rep, 2)
		}
	}
	return defs, reps
}

// appendListLevels appends the levels of the values from index from up to index to, which
// are one list. first is the repetition level of the first value, next of the other values.
func (l leafArray) appendListLevels(defs, reps []int16, from, to int, most, first, next int16) (_, _ []int16) {
	at := len(defs)
	defs, reps = defs[:at+to-from], reps[:at+to-from]
	l.setDefLevels(defs[at:], from, most)
	for i := at; i < len(reps); i++ {
		reps[i] = next
	}
	reps[at] = first
	return defs, reps
}

// setDefLevels sets the definition levels of the values from index from on.
func (l leafArray) setDefLevels(defs []int16, from int, most int16) {
	for i := range defs {
		defs[i] = most
	}
	if l.values.NullN() == 0 {
		return
	}
	for i := range defs {
		if l.values.IsNull(from + i) {
			defs[i]--
		}
	}
}

func (s *parquetSink) close(run *export.Run, t *telemetryBuffer) error {
	m, err := metadataOf(run, t, s.deriver)
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
