package columnar

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// A Table reads any Parquet file row by row, each value as JSON: strings, numbers,
// booleans, lists and structs of these, and lists of structs. Bytes that are not valid
// UTF-8 become {"b64": "…"}, unless the column is declared as text. Columns of other
// types are left out.
//
//	for t.Next() {
//		use(t.Row())
//	}
//	return t.Err()
type Table struct {
	ctx      context.Context
	name     string
	src      io.ReaderAt
	r        *file.Reader
	size     int64 // bytes
	maxBytes int64
	columns  []tableColumn
	leftOut  []string

	group                int   // the next row group
	groupLeft, chunkRows int64 // rows of the current row group: not yet decoded, and decoded per call
	decodedRows, nextRow int   // number of decoded rows, and index of the next
	row                  export.Fields
	err                  error
}

// A tableColumn is a column of the file: one leaf, or the leaves of a struct or of a
// list of structs.
type tableColumn struct {
	name   string
	leaves []tableLeaf
}

// A tableLeaf is a leaf of a column. name is the field in the struct, or in the structs
// of a list; "" without a struct. binary reports that the file does not declare the bytes
// as text.
type tableLeaf struct {
	name   string
	index  int
	desc   *schema.Column
	signed bool
	binary bool
	r      *pages.Leaf
}

// OpenTable opens a Parquet file. name is for messages. The caller closes src.
func OpenTable(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Table, error) {
	t := &Table{ctx: ctx, name: name, src: src, size: size, maxBytes: rowsLimit(lim)}
	var err error
	if t.r, err = openParquetFile(name, src, size, t.maxBytes); err != nil {
		return nil, err
	}
	if err := catchPanic(func() error { t.findColumns(); return nil }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// findColumns groups the leaves of the file by column, and leaves out columns that cannot be
// read.
func (t *Table) findColumns() {
	meta := t.r.MetaData().Schema
	bad := map[string]bool{}
	at := map[string]int{}
	for i := range meta.NumColumns() {
		desc := meta.Column(i)
		path := desc.ColumnPath()
		l, ok := leafOf(desc, i)
		if !ok {
			bad[path[0]] = true
			continue
		}
		k, seen := at[path[0]]
		if !seen {
			k = len(t.columns)
			at[path[0]] = k
			t.columns = append(t.columns, tableColumn{name: path[0]})
		}
		t.columns[k].leaves = append(t.columns[k].leaves, l)
	}
	whole := t.columns[:0]
	for _, c := range t.columns {
		if !bad[c.name] {
			whole = append(whole, c)
		}
	}
	t.columns = whole
	root := meta.Root()
	for i := range root.NumFields() {
		if name := root.Field(i).Name(); bad[name] {
			t.leftOut = append(t.leftOut, name)
		}
	}
}

// leafOf describes a leaf; ok is false when its values cannot be read.
func leafOf(desc *schema.Column, index int) (l tableLeaf, ok bool) {
	shape, err := pages.ShapeOf(desc)
	if _, decimal := desc.LogicalType().(*schema.DecimalLogicalType); err != nil || shape.MaxRep > 1 || decimal {
		return l, false
	}
	l = tableLeaf{index: index, desc: desc, signed: isSigned(desc)}
	l.r = pages.NewLeaf(desc.PhysicalType(), shape, l.signed)
	l.r.UseMemory(0)
	switch desc.PhysicalType() {
	case parquet.Types.Boolean, parquet.Types.Float, parquet.Types.Double, parquet.Types.Int32, parquet.Types.Int64:
	case parquet.Types.ByteArray:
		l.binary = desc.LogicalType() == nil || desc.LogicalType().Equals(schema.NoLogicalType{})
	default:
		return l, false
	}
	path := desc.ColumnPath()
	if shape.MaxRep == 0 {
		if len(path) == 2 {
			l.name = path[1]
		}
		return l, len(path) <= 2 // no struct within another
	}
	// The repeated node is the column itself, or a group directly in it that holds
	// the element. The element is the leaf, or a struct of leaves.
	switch repeated := repeatedAt(desc); {
	case repeated == 0 && len(path) == 1, repeated == 1 && len(path) == 3:
		return l, true
	case repeated == 1 && len(path) == 4:
		l.name = path[3]
		return l, true
	}
	return l, false
}

// repeatedAt returns the index of the repeated node in the column's path.
func repeatedAt(desc *schema.Column) int {
	at := len(desc.ColumnPath()) - 1
	for n := desc.SchemaNode(); n != nil && n.RepetitionType() != parquet.Repetitions.Repeated; n = n.Parent() {
		at--
	}
	return at
}

// LeftOut returns the names of the columns that are left out.
func (t *Table) LeftOut() []string { return t.leftOut }

// Next advances to the next row. It returns false at the end or on an error.
func (t *Table) Next() bool {
	if t.err != nil {
		return false
	}
	for t.nextRow == t.decodedRows {
		more := false
		if err := catchPanic(func() (err error) { more, err = t.decodeRows(); return err }); err != nil {
			t.err = fmt.Errorf("%s: row group %d: %w", t.name, max(0, t.group-1), err)
			return false
		}
		if !more {
			return false
		}
	}
	t.row = t.row[:0]
	for _, c := range t.columns {
		t.row = append(t.row, export.Field{Name: c.name, Value: export.Value{Data: c.append(nil, t.nextRow)}})
	}
	t.nextRow++
	return true
}

// Row returns the row: every column in the order of the file, null if the file
// has nothing there. The list is valid until the next call of Next.
func (t *Table) Row() export.Fields { return t.row }

// Err returns the error that stopped Next; nil at the end of the file.
func (t *Table) Err() error { return t.err }

// decodeRows decodes the next rows. It returns false if none are left.
func (t *Table) decodeRows() (bool, error) {
	if err := t.ctx.Err(); err != nil {
		return false, err
	}
	for t.groupLeft == 0 {
		if t.group == t.r.NumRowGroups() {
			return false, nil
		}
		if err := t.openGroup(t.r.RowGroup(t.group)); err != nil {
			return false, err
		}
		t.group++
	}
	n := int(min(t.groupLeft, t.chunkRows))
	limit := pages.NewBudget(t.maxBytes)
	for _, c := range t.columns {
		for _, l := range c.leaves {
			if err := l.r.ReadRows(n, limit); err != nil {
				return false, fmt.Errorf("column %s: %w", c.name, err)
			}
		}
	}
	t.groupLeft -= int64(n)
	t.decodedRows, t.nextRow = n, 0
	return true, nil
}

func (t *Table) openGroup(group *file.RowGroupReader) error {
	if t.groupLeft = group.NumRows(); t.groupLeft < 0 {
		return fmt.Errorf("%d rows", t.groupLeft)
	}
	t.chunkRows = chunkRows(group.NumRows(), group.ByteSize(), chunkBytes)
	for _, c := range t.columns {
		for k := range c.leaves {
			l := &c.leaves[k]
			p := pages.ChunkOf(t.r.MetaData(), group.MetaData(), l.index, t.size)
			if err := l.r.Open(t.src, &p, t.maxBytes); err != nil {
				return fmt.Errorf("column %s: %w", c.name, err)
			}
		}
	}
	return nil
}

// append appends the column's value in row i as JSON.
func (c *tableColumn) append(b []byte, i int) []byte {
	first := &c.leaves[0]
	switch {
	case first.r.Shape.MaxRep > 0:
	case first.name != "":
		return c.appendStruct(b, i)
	default:
		return first.append(b, i)
	}
	from, to, ok := first.r.Lists.List(i)
	if !ok {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for k := from; k < to; k++ {
		if k > from {
			b = append(b, ',')
		}
		if first.name == "" {
			b = first.append(b, k)
			continue
		}
		b = append(b, '{')
		for n := range c.leaves {
			l := &c.leaves[n]
			if n > 0 {
				b = append(b, ',')
			}
			b = append(appendJSONText(b, []byte(l.name)), ':')
			if at, end, _ := l.r.Lists.List(i); at+k-from < end {
				b = l.append(b, at+k-from)
			} else {
				b = append(b, "null"...) // a file that contradicts itself
			}
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendStruct appends the struct in row i; null if all its fields are null.
func (c *tableColumn) appendStruct(b []byte, i int) []byte {
	start, all := len(b), true
	for n := range c.leaves {
		l := &c.leaves[n]
		b = append(b, "{,"[min(n, 1)])
		b = l.append(append(appendJSONText(b, []byte(l.name)), ':'), i)
		all = all && l.r.V.Null(i)
	}
	if all {
		return append(b[:start], "null"...)
	}
	return append(b, '}')
}

// append appends value i as JSON; NaN and infinities become null.
func (l *tableLeaf) append(b []byte, i int) []byte {
	v := l.r.V
	if v.Null(i) {
		return append(b, "null"...)
	}
	switch l.desc.PhysicalType() {
	case parquet.Types.ByteArray:
		if l.binary && !utf8.Valid(v.Bytes(i)) {
			b = base64.StdEncoding.AppendEncode(append(b, `{"b64":"`...), v.Bytes(i))
			return append(b, `"}`...)
		}
		return appendJSONText(b, v.Bytes(i))
	case parquet.Types.Boolean:
		return strconv.AppendBool(b, v.Num(i) != 0)
	case parquet.Types.Float:
		return appendJSONFloat(b, float64(math.Float32frombits(uint32(v.Num(i)))), 32)
	case parquet.Types.Double:
		return appendJSONFloat(b, math.Float64frombits(v.Num(i)), 64)
	}
	if l.signed {
		return strconv.AppendInt(b, int64(v.Num(i)), 10)
	}
	return strconv.AppendUint(b, v.Num(i), 10)
}

func appendJSONFloat(b []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}

// appendJSONText appends a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendJSONText(b, text []byte) []byte {
	b, _ = jsontext.AppendQuote(b, text) // it fails only for invalid UTF-8, which it replaces
	return b
}
