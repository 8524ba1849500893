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

// Open opens a Parquet file. It returns an *export.CutError for a file that is cut short.
func (Parquet) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	return opened(newParquetReader(ctx, name, src, size, lim))
}

// Name returns "Arrow".
func (Arrow) Name() string { return "Arrow" }

// Sniff reports whether head starts an Arrow IPC file.
func (Arrow) Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(arrowMagic)) }

// Open opens an Arrow IPC file. It returns an *export.CutError for a file that is cut short.
func (Arrow) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	return opened(newArrowReader(ctx, name, src, size, lim))
}

// Name returns "journal".
func (Journal) Name() string { return "journal" }

// Sniff reports whether head starts a stream of Arrow messages.
func (Journal) Sniff(head []byte) bool { return bytes.HasPrefix(head, endOfStream[:4]) }

// Open opens a journal. The Reader of a journal that is cut short or damaged returns the
// whole batches before that place; then its Err returns an *export.CutError or a
// *CorruptionError. Open returns that error itself only if the schema is not whole.
func (Journal) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	return opened(newJournalReader(ctx, name, src, size, lim))
}

// opened returns r as an export.Reader: a nil interface, not a nil *Reader, for an error.
func opened(r *Reader, err error) (export.Reader, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
