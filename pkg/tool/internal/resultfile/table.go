package resultfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
)

// maxTableCells bounds the cells of a table of figures, far above what tools write.
const maxTableCells = 1 << 20

// CheckTable returns an error for CSV with more cells than tables of figures have.
func CheckTable(text []byte) error {
	if bytes.Count(text, []byte(",")) > maxTableCells {
		return fmt.Errorf("a table of figures has at most %d cells, and this file has more", maxTableCells)
	}
	return nil
}

// Rows returns a [Statement.Decode] for CSV that begins with these columns and, if cell is not "", has such a cell: each line below the
// first is an object, whose paths are the names of the columns. Empty cells are left out.
func Rows(columns, cell string) func([]byte, *stated.Result) ([]*Object, bool, error) {
	return func(content []byte, _ *stated.Result) ([]*Object, bool, error) {
		if !bytes.HasPrefix(content, []byte(columns)) || !bytes.Contains(content, []byte(","+cell)) {
			return nil, false, nil
		}
		all, err := readRows(content)
		if err == nil && all == nil {
			err = errors.New("the table has no line below the names of its columns")
		}
		return all, true, err
	}
}

// readRows reads the lines below the first.
func readRows(text []byte) (all []*Object, err error) {
	if err := CheckTable(text); err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	columns, err := r.Read()
	for err == nil {
		var cells []string
		if cells, err = r.Read(); err != nil {
			break
		}
		var values []Value
		for i, cell := range cells[:min(len(cells), len(columns))] {
			if cell == "" {
				continue
			}
			v := Value{Path: columns[i], Text: cell, Number: math.NaN(), Quoted: true}
			if _, bad := strconv.ParseFloat(cell, 64); bad == nil {
				v.Unquote()
			}
			values = append(values, v)
		}
		all = append(all, NewObject(values))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// Unquote makes a text that begins with a number, such as "12.5 ms", that number, and returns the rest of the text.
func (v *Value) Unquote() (unit string) {
	text, unit, _ := strings.Cut(v.Text, " ")
	number, err := strconv.ParseFloat(text, 64)
	if !v.Quoted || err != nil {
		return ""
	}
	v.Text, v.Number, v.Quoted = text, number, false
	return unit
}

// Append appends the figures of l to the last level of r if it has the same load, or adds the level.
func Append(r *stated.Result, l stated.Level) {
	if n := len(r.Levels); n > 0 && r.Levels[n-1].Mode == l.Mode && r.Levels[n-1].Value == l.Value {
		r.Levels[n-1].Figures = append(r.Levels[n-1].Figures, l.Figures...)
		return
	}
	r.Levels = append(r.Levels, l)
}
