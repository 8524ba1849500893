package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

const parquetMagic = "PAR1"

// A parquet is a Parquet file, converted to JSON Lines in a temporary file because its rows
// cannot be read separately.
type parquet struct {
	*lines
	name    string
	leftOut []string // columns that are not read
}

// openParquet converts all rows of src.
func openParquet(ctx context.Context, src *source, o *Options) (rows, error) {
	r, h := src.scan()
	if err := src.finishHash(r, h); err != nil {
		return nil, fmt.Errorf("read %s: %w", src.name, err)
	}
	t, err := columnar.OpenTable(ctx, src.name, src, src.size, export.Limits{MaxValueBytes: src.maxRow})
	if err != nil {
		return nil, err
	}
	s, err := spool.Copy(ctx, src.name, &tableLines{t: t, most: o.MaxRows}, o.Spool)
	if err != nil {
		return nil, err
	}
	file := src.close
	src.close = func() error { return errors.Join(s.Close(), file()) }
	if s.Err != nil {
		return nil, s.Err // an error of the table
	}
	l, err := openLines(ctx, &source{ReaderAt: s.File, name: src.name, size: s.Size, maxRow: src.maxRow})
	if err != nil {
		return nil, err
	}
	return &parquet{l, src.name, t.LeftOut()}, nil
}

func (p *parquet) row(i int) (*row, error) {
	r, err := p.lines.row(i)
	if err == nil {
		r.text = nil // it is not text of the file
	}
	return r, err
}

func (p *parquet) fault(i int, err error) error {
	return &Error{Name: p.name, Kind: byRow, Row: i, Err: err}
}

// tableLines reads the rows of a table as JSON Lines, without columns that are null.
type tableLines struct {
	t    *columnar.Table
	most int // number of rows to read; 0 for all
	n    int // number of rows so far
	line bytes.Buffer
}

// Read implements io.Reader.
func (l *tableLines) Read(b []byte) (int, error) {
	if l.line.Len() == 0 {
		if l.most > 0 && l.n == l.most {
			return 0, io.EOF
		}
		l.n++
		if !l.t.Next() {
			if err := l.t.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		l.line.Reset()
		l.line.WriteByte('{')
		for _, f := range l.t.Row() {
			if string(f.Value.Data) == "null" {
				continue
			}
			if l.line.Len() > 1 {
				l.line.WriteByte(',')
			}
			name, _ := jsontext.AppendQuote(nil, f.Name) // the error is about UTF-8
			l.line.Write(name)
			l.line.WriteByte(':')
			l.line.Write(f.Value.Data)
		}
		l.line.WriteString("}\n")
	}
	return l.line.Read(b)
}
