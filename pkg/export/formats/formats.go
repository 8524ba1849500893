package formats

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/foreign"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// Suffixes lists the names that ForName knows, for messages.
const Suffixes = ".json, .json.gz, .json.zst, .parquet or .arrow"

// Readers returns the formats that can be read, to be tried in this order.
func Readers() []export.Format {
	all := append([]export.Format{profilejson.Format{}}, columnar.Formats()...)
	return append(all, foreign.Formats()...)
}

// A Create starts a document on w. Closing the writer completes the document
// and leaves w open. deriver computes the measures that a table keeps beside the requests;
// nil leaves them out, as JSON always does.
type Create func(w io.Writer, deriver export.Deriver) (export.Writer, error)

// ForName returns what writes files of that name, by its end, in any case of
// letters. ok is false for a name that says nothing of the format.
func ForName(name string) (create Create, ok bool) {
	name = strings.ToLower(name)
	for _, f := range []struct {
		suffix string
		create Create
	}{
		{".json", JSON},
		{".json.gz", packed(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })},
		{".json.zst", packed(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })},
		{".parquet", func(w io.Writer, d export.Deriver) (export.Writer, error) { return columnar.NewParquetWriter(w, d) }},
		{".arrow", func(w io.Writer, d export.Deriver) (export.Writer, error) { return columnar.NewArrowWriter(w, d) }},
	} {
		if strings.HasSuffix(name, f.suffix) {
			return f.create, true
		}
	}
	return nil, false
}

// JSON is the Create of profile_export.json.
func JSON(w io.Writer, _ export.Deriver) (export.Writer, error) { return profilejson.NewWriter(w), nil }

// packed returns a Create of compressed JSON.
func packed(pack func(io.Writer) (io.WriteCloser, error)) Create {
	return func(w io.Writer, _ export.Deriver) (export.Writer, error) {
		z, err := pack(w)
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		return &packedWriter{profilejson.NewWriter(z), z}, nil
	}
}

// A packedWriter closes the compressor behind the document.
type packedWriter struct {
	export.Writer
	z io.Closer
}

// Close implements export.Writer.
func (p *packedWriter) Close(run *export.Run) error {
	return errors.Join(p.Writer.Close(run), p.z.Close())
}
