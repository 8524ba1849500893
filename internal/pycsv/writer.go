package pycsv

import (
	"io"
	"strings"
)

// A Writer writes rows. After an error it writes nothing more: see Err.
type Writer struct {
	w   io.Writer
	row []byte
	err error
}

// NewWriter returns a Writer to w. It keeps no row back.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Row writes one row. A row of a single empty field is "", a row without
// fields an empty line.
func (w *Writer) Row(fields ...string) {
	w.row = w.row[:0]
	for i, f := range fields {
		if i > 0 {
			w.row = append(w.row, ',')
		}
		if strings.ContainsAny(f, ",\"\r\n") || f == "" && len(fields) == 1 {
			w.row = append(w.row, '"')
			w.row = append(w.row, strings.ReplaceAll(f, `"`, `""`)...)
			w.row = append(w.row, '"')
		} else {
			w.row = append(w.row, f...)
		}
	}
	w.row = append(w.row, "\r\n"...)
	if w.err == nil {
		_, w.err = w.w.Write(w.row)
	}
}

// Err returns the first error of the underlying writer.
func (w *Writer) Err() error { return w.err }
