package dataset

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pa-tools/pa/pkg/export"
)

// A csvTable is a CSV file (RFC 4180) with column names in the first record.
type csvTable struct {
	src     *source
	columns []string
	at      []int64 // offset of each row, and the end of the last one
}

// openTable reads src once and stores the offset of each row, at which row reads it again.
func openTable(ctx context.Context, src *source) (rows, error) {
	t := &csvTable{src: src}
	buf, h := src.scan()
	skipped := skipMark(buf)
	r := csv.NewReader(contextReader{ctx, buf})
	r.ReuseRecord = true
	for {
		begin := skipped + r.InputOffset()
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			t.at = append(t.at, skipped+r.InputOffset())
			return t, src.finishHash(buf, h)
		case err != nil:
			return nil, csvError(src.name, err)
		case t.columns == nil:
			t.columns = append(t.columns, record...)
		default:
			t.at = append(t.at, begin)
		}
	}
}

// csvError returns an error that names the file and the line.
func csvError(name string, err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if errors.Is(pe.Err, csv.ErrFieldCount) {
		return &Error{Name: name, Kind: byLine, Line: pe.StartLine, Err: errors.New("does not have as many fields as the first line")}
	}
	return &Error{Name: name, Kind: byLine, Line: pe.Line, Err: fmt.Errorf("column %d: %w", pe.Column, pe.Err)}
}

func (t *csvTable) len() int { return len(t.at) - 1 }

// row returns each field as a JSON string, and an empty field as null.
func (t *csvTable) row(i int) (*row, error) {
	text, err := t.src.read(t.at[i], t.at[i+1])
	if err != nil {
		return nil, err
	}
	record, err := csv.NewReader(bytes.NewReader(text)).Read()
	if err != nil {
		return nil, err
	}
	r := &row{fields: make(export.Fields, 0, len(record))}
	for c, field := range record {
		value := []byte("null")
		if field != "" {
			if value, err = json.Marshal(field); err != nil {
				return nil, err
			}
		}
		r.fields = append(r.fields, export.Field{Name: t.columns[c], Value: export.Value{Data: value}})
	}
	return r, nil
}

func (t *csvTable) fault(i int, err error) error {
	at := t.at[i]
	if text, readErr := t.src.read(at, t.at[i+1]); readErr == nil {
		at += int64(len(text) - len(bytes.TrimLeft(text, "\r\n"))) // package csv skips empty lines
	}
	return &Error{Name: t.src.name, Kind: byLine, Line: t.src.lineAt(at), Err: err}
}
