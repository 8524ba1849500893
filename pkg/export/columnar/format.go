package columnar

import (
	"bytes"
	"context"
	"io"

	"github.com/pa-tools/pa/pkg/export"
)

// Formats returns the formats of this package for [export.Opener].
func Formats() []export.Format { return []export.Format{Parquet{}, Arrow{}, Journal{}} }

// Parquet is the format of NewParquetWriter.
type Parquet struct{}

// Arrow is the format of NewArrowWriter.
type Arrow struct{}

// Journal is the format of NewJournalWriter.
type Journal struct{}

var (
	_ export.Format = Parquet{}
	_ export.Format = Arrow{}
	_ export.Format = Journal{}
)

// Name returns "Parquet".
func (Parquet) Name() string { return "Parquet" }

// Sniff reports whether head starts a Parquet file.
func (Parquet) Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(parquetMagic)) }

// Open opens a Parquet file. One that is cut short is an *export.CutError.
func (Parquet) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	return opened(newParquetReader(ctx, name, src, size, lim))
}

// Name returns "Arrow".
func (Arrow) Name() string { return "Arrow" }

// Sniff reports whether head starts an Arrow IPC file.
func (Arrow) Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(arrowMagic)) }

// Open opens an Arrow IPC file. One that is cut short is an *export.CutError.
func (Arrow) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	return opened(newArrowReader(ctx, name, src, size, lim))
}

// Name returns "journal".
func (Journal) Name() string { return "journal" }

// Sniff reports whether head starts a stream of Arrow messages.
func (Journal) Sniff(head []byte) bool { return bytes.HasPrefix(head, endOfStream[:4]) }

// Open opens a journal. Of one that is cut short or damaged all whole batches
// before that are read; then Err returns an *export.CutError or a
// *CorruptionError. It is the error of Open only when not even the schema is
// whole.
func (Journal) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	return opened(newJournalReader(ctx, name, src, size, lim))
}

// opened keeps a nil *Reader out of a non-nil interface.
func opened(r *Reader, err error) (export.Reader, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
