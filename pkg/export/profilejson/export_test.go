package profilejson

import (
	"context"
	"io"
	"math"

	"github.com/pa-tools/pa/pkg/export"
)

// NewSpanReader is NewReader with spans of that many bytes, which workers decode also of small
// files.
func NewSpanReader(ctx context.Context, src io.ReaderAt, size, spanBytes int64) (*Reader, error) {
	r, err := newReader(ctx, "x.json", src, size, export.Limits{}, 4096)
	if err == nil {
		r.spanBytes = spanBytes
	}
	return r, err
}

// AppendText appends text as a JSON string, as the Writer writes it.
func AppendText(b, text []byte) []byte { return appendText(b, text) }

// NewPlainReader is NewReader without workers.
func NewPlainReader(ctx context.Context, src io.ReaderAt, size int64) (*Reader, error) {
	return NewSpanReader(ctx, src, size, math.MaxInt64/leastSpans)
}
