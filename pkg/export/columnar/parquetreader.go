package columnar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/pa-tools/pa/pkg/export"
)

const parquetMagic = "PAR1"

// newParquetReader returns a Reader of a Parquet file.
func newParquetReader(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Reader, error) {
	s := &parquetSource{schema: fullSchema(), size: size, most: mostRows(lim)}
	var err error
	if s.r, err = openParquetFile(name, src, size, s.most); err != nil {
		return nil, err
	}
	var columns []string
	var h header
	err = guard(func() (err error) {
		meta := s.r.MetaData()
		root := meta.Schema.Root()
		for i := range root.NumFields() {
			columns = append(columns, root.Field(i).Name())
		}
		get := func(key string) string { return lookup(meta.KeyValueMetadata(), key) }
		if h, err = readHeader(name, columns, get, lim); err != nil {
			return err
		}
		h.telemetry(get, lim)
		if err := s.columns(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newReader(ctx, h, s)
}

// mostRows returns the bound of the memory for rows.
func mostRows(lim export.Limits) int64 {
	limit := lim.MaxValueBytes
	if limit <= 0 {
		limit = export.DefaultMaxValueBytes
	}
	return itemsFactor * max(limit, 1<<20)
}

// openParquetFile reads the footer of a Parquet file. most bounds the buffers.
func openParquetFile(name string, src io.ReaderAt, size, most int64) (r *file.Reader, err error) {
	if err := parquetEnd(name, src, size); err != nil {
		return nil, err
	}
	props := parquet.NewReaderProperties(boundAllocator{memory.DefaultAllocator, most})
	props.BufferedStreamEnabled = true   // not a whole column of a row group at once
	props.BufferSize = min(16<<10, size) // one for each column
	err = guard(func() (err error) {
		r, err = file.NewParquetReader(io.NewSectionReader(src, 0, size), file.WithReadProps(props))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// itemsFactor bounds the memory of the decoded rows, as a multiple of the limit of a value.
const itemsFactor = 4

func lookup(kv metadata.KeyValueMetadata, key string) string {
	v := kv.FindValue(key)
	if v == nil {
		return ""
	}
	return *v
}

// parquetEnd tells a file that is cut from one that is something else.
func parquetEnd(name string, src io.ReaderAt, size int64) error {
	tail := make([]byte, min(size, int64(len(parquetMagic))))
	if err := readAt(src, tail, size-int64(len(tail))); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case string(tail) == "PARE":
		return fmt.Errorf("%s: is encrypted; decrypt it first", name)
	case size < 12 || string(tail) != parquetMagic:
		return &export.CutError{Name: name, Offset: size, Where: "the footer of the Parquet file", Nothing: true}
	}
	return nil
}

// A parquetSource reads the row groups of a Parquet file, some rows at a time.
type parquetSource struct {
	r      *file.Reader
	schema *arrow.Schema
	size   int64
	most   int64
	// leaves holds the file's columns for each column of the schema: one, or one for
	// each field of a list of structs.
	leaves [numColumns][]leafColumn
}

// A leafColumn is a column of the file that belongs to a column of the schema.
type leafColumn struct {
	index  int
	desc   *schema.Column
	shape  leafShape
	signed bool // integers have a sign
}

// An openColumn is being read.
type openColumn struct {
	col    int
	leaves []*leaf
}

// columns finds the columns of the schema in the file. One that is missing is
// left out; one of another type is an error.
func (s *parquetSource) columns() error {
	byPath := map[string]map[string]int{} // top name → name of the leaf ("": no struct) → index
	for i := range s.r.MetaData().Schema.NumColumns() {
		path := s.r.MetaData().Schema.Column(i).ColumnPath()
		m := byPath[path[0]]
		if m == nil {
			m = map[string]int{}
			byPath[path[0]] = m
		}
		m[path[len(path)-1]] = i
		m[""] = i
	}
	for col, f := range s.schema.Fields() {
		have := byPath[f.Name]
		if have == nil || onlyWritten(col) {
			continue
		}
		if _, null := s.r.MetaData().Schema.Column(have[""]).LogicalType().(schema.NullLogicalType); null {
			continue // pandas makes this of a column without values
		}
		list, isList := f.Type.(*arrow.ListType)
		rep := 0
		fields := []arrow.Field{{Type: f.Type}}
		if isList {
			rep = 1
			fields[0].Type = list.Elem()
			switch t := list.Elem().(type) {
			case *arrow.StructType:
				fields = t.Fields()
			case *arrow.ListType:
				rep = 2
				fields[0].Type = t.Elem()
			}
		}
		for _, k := range fields {
			i, ok := have[k.Name]
			if !ok {
				return fmt.Errorf("column %s: field %q is missing", f.Name, k.Name)
			}
			desc := s.r.MetaData().Schema.Column(i)
			shape, err := shapeOf(desc)
			if err != nil {
				return fmt.Errorf("column %s: %w", f.Name, err)
			}
			if !holds(desc, k.Type) || shape.maxRep != rep {
				return fmt.Errorf("column %s: expected %s, found %s %s", f.Name, f.Type, desc.PhysicalType(), desc.LogicalType())
			}
			s.leaves[col] = append(s.leaves[col], leafColumn{i, desc, shape, isSigned(desc)})
		}
	}
	return nil
}

// isSigned reports whether the integers of a column of the file have a sign.
func isSigned(desc *schema.Column) bool {
	t, ok := desc.LogicalType().(*schema.IntLogicalType)
	return !ok || t.IsSigned()
}

// holds reports whether a column of the file holds values of type t.
func holds(desc *schema.Column, t arrow.DataType) bool {
	switch classOf(t) {
	case classInteger:
		switch desc.LogicalType().(type) {
		case *schema.IntLogicalType, schema.NoLogicalType:
			return desc.PhysicalType() == parquet.Types.Int32 || desc.PhysicalType() == parquet.Types.Int64
		}
		return false
	case classBool:
		return desc.PhysicalType() == parquet.Types.Boolean
	case classText:
		return desc.PhysicalType() == parquet.Types.ByteArray
	}
	return false
}

func (s *parquetSource) batches() int { return s.r.NumRowGroups() }

// chunkBytes is how much of a row group is decoded at once, roughly.
const chunkBytes = 4 << 20

// A parquetGroup reads one row group, some rows at a time.
type parquetGroup struct {
	source  *parquetSource
	columns []openColumn
	rest    int64 // rows left
	chunk   int64 // rows to be read at once
	turn    int   // see batchRows
}

// decodedBatches is the number of decoded batches that are in use at the same time: one
// is being decoded, one waits, and one is being read.
const decodedBatches = 3

func (s *parquetSource) concurrent() bool { return true }

func (s *parquetSource) open(i int, wanted func(col int) bool) (batchRows, error) {
	group := s.r.RowGroup(i)
	g := &parquetGroup{source: s, rest: group.NumRows()}
	if g.rest < 0 {
		return nil, fmt.Errorf("%d rows", g.rest)
	}
	var bytes int64
	for col, leaves := range s.leaves {
		if len(leaves) == 0 || !wanted(col) {
			continue
		}
		c := openColumn{col: col}
		for _, lc := range leaves {
			pages, err := openPages(group, lc.index, s.size)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", columnName(col), err)
			}
			bytes += columnBytes(group, lc.index)
			c.leaves = append(c.leaves, &leaf{
				pages: pages, kind: lc.desc.PhysicalType(), shape: lc.shape,
				signed: lc.signed, limit: &budget{},
			})
		}
		g.columns = append(g.columns, c)
	}
	g.chunk = chunkRows(group.NumRows(), bytes)
	return g, nil
}

// columnBytes returns the size of a column of a row group before compression, as the file
// states it.
func columnBytes(group *file.RowGroupReader, column int) int64 {
	meta, err := group.MetaData().ColumnChunk(column)
	if err != nil {
		return 0
	}
	return max(0, meta.TotalUncompressedSize())
}

// openPages returns the pages of a column of a row group, in a file of size bytes.
func openPages(group *file.RowGroupReader, column int, size int64) (file.PageReader, error) {
	meta, err := group.MetaData().ColumnChunk(column)
	if err != nil {
		return nil, err
	}
	if off, n := meta.DataPageOffset(), meta.TotalCompressedSize(); off < 0 || n < 0 || n > size || off > size-n && !meta.HasDictionaryPage() {
		return nil, fmt.Errorf("lies at bytes %d to %d of %d", off, off+n, size)
	}
	return group.GetColumnPageReader(column)
}

// chunkRows returns how many of the rows of a row group, whose columns take bytes, are
// decoded at once.
func chunkRows(rows, bytes int64) int64 {
	const most = 1024
	if rows > 0 && bytes > 0 {
		return max(1, min(most, chunkBytes/max(1, bytes/rows)))
	}
	return most
}

func (g *parquetGroup) rows() (*rows, error) {
	if g.rest == 0 {
		return nil, nil
	}
	t := &rows{n: int(min(g.rest, g.chunk))}
	g.rest -= int64(t.n)
	g.turn = (g.turn + 1) % decodedBatches
	limit := budget{g.source.most, g.source.most}
	for _, c := range g.columns {
		v, err := g.column(c, t.n, &limit)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", columnName(c.col), err)
		}
		t.cols[c.col] = v
	}
	return t, nil
}

// column reads n rows of a column.
func (g *parquetGroup) column(c openColumn, n int, limit *budget) (*vector, error) {
	var lists *vector
	var kids []*vector
	for _, l := range c.leaves {
		l.use(g.turn)
		if err := l.rows(n, limit); err != nil {
			return nil, err
		}
		switch {
		case l.shape.maxRep == 0:
			return l.v, nil
		case lists == nil:
			lists = l.lists
		case !slices.Equal(lists.offs, l.lists.offs):
			return nil, errors.New("the fields of its structs are not equally many")
		}
		kids = append(kids, l.v)
	}
	if inner := c.leaves[0].inner; inner != nil {
		inner.kids = kids
		kids = []*vector{inner}
	}
	if _, isStruct := g.source.schema.Field(c.col).Type.(*arrow.ListType).Elem().(*arrow.StructType); isStruct {
		lists.kids = []*vector{{n: kids[0].n, kids: kids}}
	} else {
		lists.kids = kids
	}
	return lists, nil
}

func (s *parquetSource) place(i int) (int64, string) {
	return -1, fmt.Sprintf("row group %d", i)
}

func (s *parquetSource) close() error { return nil }
