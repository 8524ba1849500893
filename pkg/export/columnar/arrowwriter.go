package columnar

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

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
