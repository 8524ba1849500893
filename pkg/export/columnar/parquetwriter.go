package columnar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	pqschema "github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// A ParquetWriter is a Writer of Parquet.
type ParquetWriter struct {
	Writer
	parquet *parquetSink
}

// NewParquetWriter returns a Writer of Parquet to w. It buffers its writes to w. deriver
// computes the derived columns; nil leaves them out. A row group is encoded on all cores and
// written to w while the next one fills: stop a Writer that is not closed, before using w for
// anything else.
func NewParquetWriter(w io.Writer, deriver export.Deriver) (*ParquetWriter, error) {
	s, err := newParquetSink(w, deriver)
	if err != nil {
		return nil, err
	}
	return &ParquetWriter{parquet: s, Writer: Writer{calls: export.WriteOrder{Format: "Parquet"}, sink: s, batch: s.newBatch()}}, nil
}

// parquetProperties returns the encodings that the footer names. Times are
// DELTA_BINARY_PACKED and texts DELTA_BYTE_ARRAY, which are smaller than PLAIN under zstd and
// faster to write and read. Columns with few distinct values have a dictionary. Pages have
// version 1, which every reader reads.
func parquetProperties(schema *pqschema.Schema) *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithEncoding(parquet.Encodings.Plain),
	}
	for i := range schema.NumColumns() {
		c := schema.Column(i)
		switch c.PhysicalType() {
		case parquet.Types.Int64:
			props = append(props, parquet.WithEncodingFor(c.Path(), parquet.Encodings.DeltaBinaryPacked))
		case parquet.Types.ByteArray:
			if !hasDictionary(c.Path()) {
				props = append(props, parquet.WithEncodingFor(c.Path(), parquet.Encodings.DeltaByteArray))
			}
		}
	}
	return parquet.NewWriterProperties(props...)
}

// Bounds of a row group, before encoding. Engines read one row group at a time and skip
// row groups by their statistics. A few large row groups are faster than many small ones.
const (
	maxGroupRows  = 1 << 20
	maxGroupBytes = 32 << 20
)

// groupBatchBytes is the size of the batches of a row group. A page holds whole batches.
const groupBatchBytes = pages.PageBytes

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

// A parquetSink collects batches and writes them as row groups. Their pages are encoded on all
// cores. Arrow writes only the footer.
type parquetSink struct {
	file    *countingWriter
	meta    *metadata.FileMetaDataBuilder
	arrow   *arrow.Schema
	schema  *pqschema.Schema
	deriver export.Deriver
	// begun says that there are requests; derivation describes their derived columns.
	begun      atomic.Bool
	derivation export.Derivation

	group               []*batch // of the row group that fills
	groupRows, maxRows  int
	groupSize, maxBytes int
	writing             chan error // gets the error of the row group that is written; nil if there is none

	encoders []*pages.Encoder
	parts    []*pages.Part // memory of earlier row groups
	groups   int

	mu      sync.Mutex
	empty   []*batch // memory of earlier row groups
	lengths []int    // of the memory of a batch that was full; nil before the first
}

func newParquetSink(w io.Writer, deriver export.Deriver) (*parquetSink, error) {
	s := &parquetSink{
		file: newCountingWriter(w), deriver: deriver, arrow: newSchema(fileMetadata{}, deriver != nil),
		maxRows: maxGroupRows, maxBytes: maxGroupBytes,
	}
	root, err := parquetGroupNode("schema", parquet.Repetitions.Repeated, s.arrow.Fields())
	if err != nil {
		return nil, err
	}
	s.schema = pqschema.NewSchema(root)
	// The file has no copy of the Arrow schema: pyarrow would take the metadata from the copy,
	// which is written before pa.run is known.
	s.meta = metadata.NewFileMetadataBuilder(s.schema, parquetProperties(s.schema), metadata.KeyValueMetadata{})
	if err := s.meta.AppendKeyValueMetadata(versionKey, Version); err != nil {
		return nil, err
	}
	for range runtime.GOMAXPROCS(0) {
		e, err := pages.NewEncoder()
		if err != nil {
			return nil, err
		}
		s.encoders = append(s.encoders, e)
	}
	_, err = s.file.Write([]byte(parquetMagic))
	return s, err
}

// newBatch returns an empty batch for a row group. Any goroutine may call it.
func (s *parquetSink) newBatch() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.empty); n > 0 {
		b := s.empty[n-1]
		s.empty = s.empty[:n-1]
		b.deriver = s.deriver
		return b
	}
	b := newBatch(s.arrow, s.deriver)
	b.maxRows, b.maxBytes = s.maxRows, groupBatchBytes
	at := 0
	for _, c := range b.cols {
		c.shareTexts(s.schema, &at)
	}
	if n := s.lengths; n != nil {
		for _, c := range b.cols {
			n = c.reserve(n)
		}
	}
	return b
}

// shareTexts makes the texts below c shared texts, unless they may have a dictionary. at is
// the index of the first column of the schema that is of c; it becomes the index of the next one.
func (c *arrowColumn) shareTexts(schema *pqschema.Schema, at *int) {
	for _, k := range c.children {
		k.shareTexts(schema, at)
	}
	if len(c.children) > 0 {
		return
	}
	if c.isText() && !hasDictionary(schema.Column(*at).Path()) {
		c.shared = &sharedTexts{}
	}
	*at++
}

// write adds b to the row group, and writes row groups that are full.
func (s *parquetSink) write(b *batch) (empty *batch, err error) {
	if !s.begun.Load() {
		if b.deriver != nil && b.deriver == s.deriver {
			s.derivation = s.deriver.Derivation()
		}
		s.begun.Store(true)
	}
	if s.groupRows+b.rows > s.maxRows {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	size := b.size()
	s.groupRows += b.rows
	s.groupSize += size
	if last := len(s.group) - 1; last >= 0 && size < groupBatchBytes/4 && s.group[last].size() < groupBatchBytes {
		s.group[last].appendAll(b)
		b.reset()
		empty = b
	} else {
		s.group = append(s.group, b)
		s.learn(b)
		empty = s.newBatch()
	}
	if s.groupSize >= s.maxBytes {
		err = s.flush()
	}
	return empty, err
}

// learn makes new batches have room for as much as b holds.
func (s *parquetSink) learn(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lengths == nil {
		for _, c := range b.cols {
			s.lengths = c.lengths(s.lengths)
		}
	}
}

// flush starts to write the row group in the background, after the previous row group.
func (s *parquetSink) flush() error {
	if len(s.group) == 0 {
		return nil
	}
	if err := s.wait(); err != nil {
		return err
	}
	group := s.group
	s.group, s.groupRows, s.groupSize = nil, 0, 0
	done := make(chan error, 1)
	go func() { done <- catchPanic(func() error { return s.encode(group) }) }()
	s.writing = done
	return nil
}

// wait waits until the row group in the background is written.
func (s *parquetSink) wait() error {
	if s.writing == nil {
		return nil
	}
	err := <-s.writing
	s.writing = nil
	return err
}

// encode writes the batches as a row group.
func (s *parquetSink) encode(group []*batch) error {
	columns := columnsOf(group, s.schema)
	parts := s.split(columns)
	bySize := slices.Clone(parts) // the largest first, so that all cores end at about the same time
	slices.SortStableFunc(bySize, func(p, q *pages.Part) int { return q.Size - p.Size })
	err := inParallel(len(s.encoders), len(bySize), func(worker, i int) error {
		s.encoders[worker].Encode(bySize[i])
		return nil
	})
	if err != nil {
		return err
	}
	rows := 0
	for _, b := range group {
		rows += b.rows
	}
	if err := s.writeGroup(columns, parts, rows); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range group {
		b.reset()
		s.empty = append(s.empty, b)
	}
	return nil
}

// columnsOf returns the columns of a file with the schema, in its order: one column for each field of a
// list of structs, one column for any other column of the batches.
func columnsOf(batches []*batch, schema *pqschema.Schema) []pages.Column {
	all := make([]pages.Column, schema.NumColumns())
	for i := range all {
		desc := schema.Column(i)
		all[i] = pages.Column{
			Desc: desc, Kind: desc.PhysicalType(), Dictionary: hasDictionary(desc.Path()),
			Batches: make([]pages.Batch, 0, len(batches)),
		}
	}
	for _, b := range batches {
		at := 0
		for _, c := range b.cols {
			var lists []*pages.Values
			for c.isList() {
				lists = append(lists, &c.Values)
				c = c.children[0]
			}
			fields := []*arrowColumn{c}
			if c.isStruct() {
				fields = c.children
			}
			for _, c := range fields {
				values := pages.Batch{Rows: b.rows, Lists: lists, Values: &c.Values, Size: c.size()}
				if c.shared != nil {
					values.Shared = c.shared.described()
				}
				all[at].Batches = append(all[at].Batches, values)
				at++
			}
		}
	}
	return all
}

// split returns the parts of the columns that are encoded independently of each other, in the
// order of the file: pages, or a whole column if it may have a dictionary.
func (s *parquetSink) split(columns []pages.Column) []*pages.Part {
	n := 0
	for i := range columns {
		columns[i].EachPart(func(batches []pages.Batch, size int) {
			if n == len(s.parts) {
				s.parts = append(s.parts, &pages.Part{})
			}
			p := s.parts[n]
			p.Column, p.Batches, p.Size = &columns[i], batches, size
			n++
		})
	}
	return s.parts[:n]
}

// writeGroup writes the parts, which are in the order of the columns, as a row group.
func (s *parquetSink) writeGroup(columns []pages.Column, parts []*pages.Part, rows int) error {
	group := s.meta.AppendRowGroup()
	group.SetNumRows(rows)
	total := int64(0)
	for i := range columns {
		column := group.NextColumnChunk()
		info := metadata.ChunkMetaInfo{IndexPageOffset: -1}
		encodings := metadata.EncodingStats{DictEncodingStats: map[parquet.Encoding]int32{}, DataEncodingStats: map[parquet.Encoding]int32{}}
		stats := pages.Statistics{Kind: columns[i].Kind}
		hasDictionary := false
		for ; len(parts) > 0 && parts[0].Column == &columns[i]; parts = parts[1:] {
			p := parts[0]
			if info.DataPageOffset == 0 {
				info.DataPageOffset = s.file.n + int64(p.Dictionary)
			}
			if p.Dictionary > 0 {
				hasDictionary = true
				info.DictPageOffset = s.file.n
				encodings.DictEncodingStats[parquet.Encodings.Plain]++
			}
			if _, err := s.file.Write(p.Bytes); err != nil {
				return err
			}
			info.NumValues += int64(p.Levels)
			info.CompressedSize += int64(len(p.Bytes))
			info.UncompressedSize += int64(p.Uncompressed)
			for encoding, n := range p.Pages {
				if n > 0 {
					encodings.DataEncodingStats[parquet.Encoding(encoding)] += n
				}
			}
			stats.Merge(&p.Stats)
		}
		total += info.UncompressedSize
		encoded := stats.Encoded()
		encoded.Min, encoded.Max = bytes.Clone(encoded.Min), bytes.Clone(encoded.Max) // the footer keeps them, the batch does not
		column.SetStats(encoded)
		plain := encodings.DataEncodingStats[parquet.Encodings.Plain] > 0
		if err := column.Finish(info, hasDictionary, plain, encodings, nil); err != nil {
			return err
		}
	}
	s.groups++
	return group.Finish(total, int16(s.groups-1))
}

// inParallel calls do for each i from 0 up to n, on up to workers goroutines, which are
// numbered from 0. A goroutine ends with its first error; a panic is an error. inParallel returns the
// errors of all goroutines.
func inParallel(workers, n int, do func(worker, i int) error) error {
	var next atomic.Int64
	var running sync.WaitGroup
	errs := make([]error, min(workers, n))
	for worker := range errs {
		running.Go(func() {
			for errs[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[worker] = catchPanic(func() error { return do(worker, i) })
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func (s *parquetSink) close(run *export.Run, t *telemetryBuffer) error {
	if err := errors.Join(s.flush(), s.wait()); err != nil {
		return err
	}
	var derivation *export.Derivation
	if s.deriver != nil {
		d := s.deriver.Derivation()
		if s.begun.Load() {
			d.Model = s.derivation.Model // of the first request; the rest is known at the end
		}
		derivation = &d
	}
	m, err := metadataOf(run, t, derivation)
	if err != nil {
		return err
	}
	for i, k := range m.keys {
		if err := s.meta.AppendKeyValueMetadata(k, m.values[i]); err != nil {
			return err
		}
	}
	footer, err := s.meta.Finish()
	if err != nil {
		return err
	}
	before := s.file.n
	if _, err := footer.WriteTo(s.file, nil); err != nil {
		return err
	}
	end := binary.LittleEndian.AppendUint32(nil, uint32(s.file.n-before))
	if _, err := s.file.Write(append(end, parquetMagic...)); err != nil {
		return err
	}
	return s.file.w.Flush()
}

// A requestBatch encodes requests as rows in a goroutine of the reader.
type requestBatch struct {
	sink    *parquetSink
	deriver export.Deriver // nil: without derived columns
	rows    *batch
	err     error // of the request after the rows
}

var _ export.BatchWriter = (*ParquetWriter)(nil)

// NewBatch implements export.BatchWriter.
func (w *ParquetWriter) NewBatch() export.Batch {
	return &requestBatch{sink: w.parquet, rows: w.parquet.newBatch()}
}

// Reset implements export.Batch.
func (b *requestBatch) Reset() {
	b.rows.reset()
	b.err = nil
	// The first batch of the file tells the model of its first request, and no batch before
	// it was written.
	if b.sink.deriver != nil && (b.deriver == nil || !b.sink.begun.Load()) {
		b.deriver = b.sink.deriver.Fork()
	}
	b.rows.deriver = b.deriver
}

// Add implements export.Batch.
func (b *requestBatch) Add(row *export.Row) {
	if b.err == nil {
		b.err = b.rows.add(row.Request)
	}
}

// WriteBatch writes the requests of b, which NewBatch returned.
func (w *ParquetWriter) WriteBatch(x export.Batch) error {
	if err := w.calls.Enter(export.InExperiment, "WriteBatch"); err != nil {
		return err
	}
	if err := w.flush(); err != nil { // single requests before
		return err
	}
	b := x.(*requestBatch)
	experiment := len(w.run.Experiments) - 1
	n := b.rows.rows
	if b.err != nil {
		return w.calls.Fail(fmt.Errorf("experiment %d, request %d: %w", experiment, w.rows+n, b.err))
	}
	if n == 0 {
		return nil
	}
	b.rows.setLevel(experiment, &w.run.Experiments[experiment])
	w.rows += n
	if b.deriver != nil && !w.parquet.begun.Load() {
		w.parquet.derivation = b.deriver.Derivation()
	}
	return w.write(b.rows, func(empty *batch) { b.rows = empty })
}
