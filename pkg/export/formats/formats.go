package formats

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// Suffixes lists the names that ForName knows, for messages.
const Suffixes = ".json, .json.gz, .json.zst, .parquet or .arrow"

// JournalSuffix ends the name of a journal: the recording of a run that has not ended, or that
// was killed.
const JournalSuffix = ".journal"

// JournalPath returns the path of the journal of an export. For run.json, run.json.zst and
// run.parquet it is run.journal.
func JournalPath(exportPath string) string { return stem(exportPath) + JournalSuffix }

// stem returns the name of an export without the suffixes of its format.
func stem(path string) string {
	for _, suffix := range []string{".gz", ".zst", ".json", ".parquet", ".arrow", ".csv"} {
		if strings.HasSuffix(strings.ToLower(path), suffix) && len(filepath.Base(path)) > len(suffix) {
			path = path[:len(path)-len(suffix)]
		}
	}
	return path
}

// Readers returns the formats of recorded runs, in the order in which to try them. Package tool has the
// formats of other tools' result files.
func Readers() []export.Format {
	return append([]export.Format{reportFormat{}, profilejson.Format{}}, append(columnar.Formats(), recordlog.Format())...)
}

// A Create returns a Writer of a new document to w. Closing the Writer completes the
// document and leaves w open. deriver computes the derived columns of Parquet and Arrow
// files; nil leaves them out. JSON has none.
type Create func(w io.Writer, deriver export.Deriver) (export.Writer, error)

// ForName returns the Create for the suffix of name; upper and lower case are the same. ok
// is false for a name with none of the Suffixes.
func ForName(name string) (create Create, ok bool) {
	name = strings.ToLower(name)
	for _, f := range []struct {
		suffix string
		create Create
	}{
		{".json", JSON},
		{".json.gz", compressed(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })},
		{".json.zst", compressed(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })},
		{".parquet", func(w io.Writer, d export.Deriver) (export.Writer, error) { return columnar.NewParquetWriter(w, d) }},
		{".arrow", func(w io.Writer, d export.Deriver) (export.Writer, error) { return columnar.NewArrowWriter(w, d) }},
	} {
		if strings.HasSuffix(name, f.suffix) {
			return f.create, true
		}
	}
	return nil, false
}

// HasDerived reports whether the format of a file with this name has derived columns.
func HasDerived(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".parquet") || strings.HasSuffix(name, ".arrow")
}

// JSON returns a Writer of profile_export.json to w. It ignores the Deriver.
func JSON(w io.Writer, _ export.Deriver) (export.Writer, error) { return profilejson.NewWriter(w), nil }

// compressed returns a Create of JSON that is compressed by newCompressor.
func compressed(newCompressor func(io.Writer) (io.WriteCloser, error)) Create {
	return func(w io.Writer, _ export.Deriver) (export.Writer, error) {
		z, err := newCompressor(w)
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		return &compressedWriter{profilejson.NewWriter(z), z}, nil
	}
}

// A compressedWriter writes a document through a compressor and closes both.
type compressedWriter struct {
	export.Writer
	z io.Closer
}

// Close implements export.Writer.
func (p *compressedWriter) Close(run *export.Run) error {
	return errors.Join(p.Writer.Close(run), p.z.Close())
}
