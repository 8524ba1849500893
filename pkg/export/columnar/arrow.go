package columnar

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export"
)

// NewArrowWriter returns a Writer of an uncompressed Arrow IPC file to w. It buffers its
// writes to w. deriver computes the derived columns; nil leaves them out.
func NewArrowWriter(w io.Writer, deriver export.Deriver) (*Writer, error) {
	out := &arrowSink{file: newCountingWriter(w), schema: newSchema(fileMetadata{}, deriver != nil), deriver: deriver}
	var err error
	if out.w, err = ipc.NewFileWriter(out.file, ipc.WithSchema(out.schema)); err != nil {
		return nil, err
	}
	return &Writer{calls: export.WriteOrder{Format: "Arrow"}, sink: out, batch: newBatch(newSchema(fileMetadata{}, deriver != nil), deriver)}, nil
}

// An arrowSink writes each batch as a record batch.
type arrowSink struct {
	file    *countingWriter
	schema  *arrow.Schema
	w       *ipc.FileWriter
	deriver export.Deriver
}

func (s *arrowSink) write(b *batch) (*batch, error) {
	rec := b.record()
	defer rec.Release()
	defer b.reset()
	return b, s.w.Write(rec)
}

func (s *arrowSink) wait() error { return nil }

func (s *arrowSink) close(run *export.Run, t *telemetryBuffer) error {
	var derivation *export.Derivation
	if s.deriver != nil {
		d := s.deriver.Derivation()
		derivation = &d
	}
	m, err := metadataOf(run, t, derivation)
	if err != nil {
		return err
	}
	// Readers use the copy of the schema in the footer. FileWriter.Close encodes that
	// copy from s.schema, so the header, which is known only now, can still be added.
	*s.schema = *newSchema(m, s.deriver != nil)
	if err := s.w.Close(); err != nil {
		return err
	}
	return s.file.w.Flush()
}

const arrowMagic = "ARROW1"

// newArrowReader returns a Reader of an Arrow IPC file.
func newArrowReader(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Reader, error) {
	if err := checkArrowEnd(name, src, size); err != nil {
		return nil, err
	}
	s := &arrowSource{schema: fullSchema(), size: size}
	err := catchPanic(func() (err error) {
		s.r, err = ipc.NewFileReader(io.NewSectionReader(src, 0, size),
			ipc.WithAllocator(boundAllocator{memory.DefaultAllocator, batchLimit(lim)}))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	meta := s.r.Schema().Metadata()
	get := func(key string) string {
		v, _ := meta.GetValue(key)
		return v
	}
	h, err := readHeader(name, s.r.Schema().HasField, get, lim)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, h, s)
}

// maxFooterBytes bounds the footer of an Arrow file.
const maxFooterBytes = 256 << 20

// checkArrowEnd checks the end and the footer of an Arrow file. It returns an
// *export.CutError for a file that was cut short.
func checkArrowEnd(name string, src io.ReaderAt, size int64) error {
	const tailBytes = int64(4 + len(arrowMagic))
	tail := make([]byte, min(size, tailBytes))
	if err := readAt(src, tail, size-int64(len(tail))); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if size < int64(len(arrowMagic)+2)+tailBytes || string(tail[4:]) != arrowMagic {
		return &export.CutError{Name: name, Offset: size, Where: "the footer of the Arrow file", Nothing: true}
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > min(size-int64(len(arrowMagic)+2)-tailBytes, maxFooterBytes) {
		return fmt.Errorf("%s: the file is damaged: its footer cannot have %d bytes", name, n)
	}
	footer := make([]byte, n)
	if err := readAt(src, footer, size-tailBytes-n); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := checkArrowFooter(footer); err != nil {
		return fmt.Errorf("%s: footer: %w", name, err)
	}
	return nil
}

// An arrowSource reads the record batches of an Arrow file.
type arrowSource struct {
	r      *ipc.FileReader
	schema *arrow.Schema
	size   int64 // of the file
}

func (s *arrowSource) batches() int { return s.r.NumRecords() }

func (s *arrowSource) ahead() int { return 0 }

func (s *arrowSource) brief(int) bool { return false }

func (s *arrowSource) has(col int) bool { return s.r.Schema().HasField(schemaColumns[col].name) }

func (s *arrowSource) fingerprint() uint64 { return fingerprintOf(s.size) }

// sample implements source. All columns of a batch are in memory, so each batch has several rows.
func (s *arrowSource) sample(seed uint64, i, rows int) rowSample {
	return rowSample{severalRows(seed, i, rows), true}
}

func (s *arrowSource) open(i int, v view) (batchRows, error) {
	rec, err := s.r.RecordAt(i) // Record would keep the last one until Close
	if err != nil {
		return nil, err
	}
	return &wholeBatch{func() (*rows, error) {
		t, err := recordRows(rec, s.schema, v.wanted)
		if err != nil || v.sample == nil {
			return t, err
		}
		for _, row := range v.sample(t.n).rows {
			c := checkedRow{index: row, outputs: true}
			c.rows, c.err = recordRows(rec.NewSlice(int64(row), int64(row)+1), s.schema, func(col int) bool { return !writeOnly.of(col) })
			t.checks = append(t.checks, c)
		}
		return t, nil
	}}, nil
}

func (s *arrowSource) place(i int) string { return fmt.Sprintf("record batch %d", i) }

func (s *arrowSource) shareWith(int) {}

func (s *arrowSource) free() {}

func (s *arrowSource) close() error { return s.r.Close() }

// recordRows returns the rows of rec, with the columns that wanted names.
func recordRows(rec arrow.Record, schema *arrow.Schema, wanted func(col int) bool) (*rows, error) {
	if rec.NumRows() > math.MaxInt32 || rec.NumRows() < 0 {
		return nil, fmt.Errorf("a batch of %d rows", rec.NumRows())
	}
	out := &rows{n: int(rec.NumRows())}
	for i, f := range schema.Fields() {
		at := rec.Schema().FieldIndices(f.Name)
		if len(at) == 0 || !wanted(i) || rec.Column(at[0]).DataType().ID() == arrow.NULL {
			continue
		}
		v, err := newVector(rec.Column(at[0]).Data(), f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		if v.N != out.n {
			return nil, fmt.Errorf("column %s: %d values in %d rows", f.Name, v.N, out.n)
		}
		out.cols[i] = v
	}
	return out, nil
}
