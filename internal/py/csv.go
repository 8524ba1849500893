package py

import (
	"io"
	"strings"
)

// A CSVWriter writes rows. After an error it writes nothing more: see Err.
type CSVWriter struct {
	w   io.Writer
	row []byte
	err error
}

// NewCSVWriter returns a CSVWriter to w. It keeps no row back.
func NewCSVWriter(w io.Writer) *CSVWriter { return &CSVWriter{w: w} }

// Row writes one row. A row of a single empty field is "", a row without
// fields an empty line.
func (w *CSVWriter) Row(fields ...string) {
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
func (w *CSVWriter) Err() error { return w.err }
