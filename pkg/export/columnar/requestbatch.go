package columnar

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

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
