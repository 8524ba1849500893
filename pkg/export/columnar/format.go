package columnar

import (
	"bytes"
	"context"
	"io"

	"github.com/pa-tools/pa/pkg/export"
)

// Formats returns the formats of this package for [export.Opener].
func Formats() []export.Format { return []export.Format{Parquet(), Arrow()} }

// Parquet returns the format of NewParquetWriter. A file that is cut short is an *export.CutError.
func Parquet() export.Format { return format{"Parquet", []byte(parquetMagic), newParquetReader} }

// Arrow returns the format of NewArrowWriter. A file that is cut short is an *export.CutError.
func Arrow() export.Format { return format{"Arrow", []byte(arrowMagic), newArrowReader} }

// A format opens files that begin with magic.
type format struct {
	name  string
	magic []byte
	open  func(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Reader, error)
}

func (f format) Name() string { return f.name }

func (f format) Sniff(head []byte) bool { return bytes.HasPrefix(head, f.magic) }

// Open returns a nil interface, not a nil *Reader, for an error.
func (f format) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	r, err := f.open(ctx, name, src, size, lim)
	if err != nil {
		return nil, err
	}
	return r, nil
}
