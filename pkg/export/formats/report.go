package formats

import (
	"bytes"
	"context"
	"io"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// reportFormat recognizes what pa-analyze prints as JSON, only to refuse it with a reason: its
// "experiments" look like the load levels of a recording.
type reportFormat struct{}

var _ export.Format = reportFormat{}

// Name returns "".
func (reportFormat) Name() string { return "" }

// Sniff reports whether head starts a report, or an array of reports.
func (reportFormat) Sniff(head []byte) bool { return reportSchema(head) != "" }

// Open refuses the file with an *export.ReportError.
func (reportFormat) Open(_ context.Context, name string, src io.ReaderAt, size int64, _ export.Limits) (export.Reader, error) {
	head := make([]byte, min(size, 4<<10))
	n, err := src.ReadAt(head, 0)
	if n < len(head) {
		return nil, err
	}
	return nil, &export.ReportError{Name: name, Schema: reportSchema(head)}
}

// reportSchema returns the schema of the report that head starts; "" for another file.
func reportSchema(head []byte) string {
	b := bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	i := jsonscan.SkipSpace(b, 0)
	if i < len(b) && b[i] == '[' {
		i = jsonscan.SkipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '{' {
		return ""
	}
	var names jsonscan.Arena
	names.Reset(len(b))
	i++
	for first := true; ; first = false {
		name, at, more, err := names.Key(b, i, first)
		if err != nil || !more {
			return ""
		}
		end, _, err := jsonscan.Value(b, at)
		if err != nil {
			return ""
		}
		if string(name) == "schema" && b[at] == '"' {
			if schema := string(jsonscan.DecodeText(b[at:end])); export.ReportSchema(schema) {
				return schema
			}
			return ""
		}
		i = end
	}
}
