package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// This file holds a test for each of the traps of arrow v15 that the package
// avoids. Each of them fails when its countermeasure is taken out.

// arrowParquet writes batches with arrow's own writer of Parquet, each as a row group.
type arrowParquet struct {
	file *countingWriter
	w    *file.Writer
}

func (a *arrowParquet) write(b *batch) (*batch, error) {
	rec := b.record()
	defer rec.Release()
	defer b.reset()
	group := a.w.AppendRowGroup()
	rows := make([]slot, rec.NumRows())
	for i := range rows {
		rows[i] = slot{index: i, present: true}
	}
	for i, f := range rec.Schema().Fields() {
		if err := writeColumn(group, rec.Column(i), f.Nullable, 0, rows); err != nil {
			return nil, err
		}
	}
	return b, group.Close()
}

func (a *arrowParquet) wait() error { return nil }

func (a *arrowParquet) close(run *export.Run, telemetry *telemetryBuffer) error {
	m, err := metadataOf(run, telemetry, nil)
	if err != nil {
		return err
	}
	for i, k := range m.keys {
		if err := a.w.AppendKeyValueMetadata(k, m.values[i]); err != nil {
			return err
		}
	}
	return errors.Join(a.w.Close(), a.file.w.Flush())
}

// A slot is an element of a column, or stands for a missing element. rep and def are its repetition
// and definition levels in Parquet.
type slot struct {
	index    int // in the array; undefined if the element is missing
	present  bool
	rep, def int16
}

// writeColumn writes the leaves of a column. It computes their levels by the rules of the Dremel
// paper (Melnik et al., VLDB 2010). lists is the number of lists around the column.
func writeColumn(group file.SerialRowGroupWriter, column arrow.Array, nullable bool, lists int16, slots []slot) error {
	slots = slices.Clone(slots)
	for i := range slots {
		switch s := &slots[i]; {
		case !s.present || !nullable:
		case column.IsNull(s.index):
			s.present = false
		default:
			s.def++
		}
	}
	switch column := column.(type) {
	case *array.Struct:
		for i, f := range column.DataType().(*arrow.StructType).Fields() {
			if err := writeColumn(group, column.Field(i), f.Nullable, lists, slots); err != nil {
				return err
			}
		}
		return nil
	case *array.List:
		var elements []slot
		for _, s := range slots {
			if !s.present {
				elements = append(elements, s)
				continue
			}
			start, end := column.ValueOffsets(s.index)
			if start == end {
				elements = append(elements, slot{rep: s.rep, def: s.def})
			}
			for k := start; k < end; k++ {
				elements = append(elements, slot{int(k), true, s.rep, s.def + 1})
				s.rep = lists + 1 // the next elements continue the list
			}
		}
		return writeColumn(group, column.ListValues(), column.DataType().(*arrow.ListType).ElemField().Nullable, lists+1, elements)
	}
	w, err := group.NextColumn()
	if err != nil {
		return err
	}
	switch column := column.(type) {
	case *array.Int64:
		err = writeLeaf(w.(*file.Int64ColumnChunkWriter).WriteBatch, column.Value, slots)
	case *array.Int32:
		err = writeLeaf(w.(*file.Int32ColumnChunkWriter).WriteBatch, column.Value, slots)
	case *array.Int8:
		err = writeLeaf(w.(*file.Int32ColumnChunkWriter).WriteBatch, func(i int) int32 { return int32(column.Value(i)) }, slots)
	case *array.Float64:
		err = writeLeaf(w.(*file.Float64ColumnChunkWriter).WriteBatch, column.Value, slots)
	case *array.Boolean:
		err = writeLeaf(w.(*file.BooleanColumnChunkWriter).WriteBatch, column.Value, slots)
	case *array.String:
		err = writeLeaf(w.(*file.ByteArrayColumnChunkWriter).WriteBatch, func(i int) parquet.ByteArray { return parquet.ByteArray(column.Value(i)) }, slots)
	default:
		err = fmt.Errorf("a column of %s", column.DataType())
	}
	return errors.Join(err, w.Close())
}

// writeLeaf writes the values that are present, and the levels of all slots.
func writeLeaf[T any](write func(values []T, def, rep []int16) (int64, error), value func(int) T, slots []slot) error {
	var values []T
	var def, rep []int16
	for _, s := range slots {
		if s.present {
			values = append(values, value(s.index))
		}
		def, rep = append(def, s.def), append(rep, s.rep)
	}
	_, err := write(values, def, rep)
	return err
}

// encodeByArrow returns the run as arrow's own writer of Parquet writes it, in row groups of
// 50 rows.
func (res *result) encodeByArrow(t *testing.T, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	schema := newSchema(fileMetadata{}, false)
	root, err := parquetGroupNode("schema", parquet.Repetitions.Repeated, schema.Fields())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink := &arrowParquet{file: newCountingWriter(&out)}
	sink.w = file.NewParquetWriter(sink.file, root, file.WithWriterProps(parquet.NewWriterProperties(opts...)))
	b := newBatch(schema, nil)
	b.maxRows = 50
	if err := res.write(&Writer{calls: export.WriteOrder{Format: "Parquet"}, sink: sink, batch: b}, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Our files hold what arrow's own writer writes of the same batches.
func TestParquetAsArrow(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	var runs []*result
	for seed := range 12 / uint64(testenv.Stride(3)) {
		runs = append(runs, newRandom(seed, 2).run(6))
	}
	runs = append(runs, requests(0), requests(500))
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(30) > 0 {
			continue
		}
		res, err := read(readJSON(t, files[name]))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, res)
	}
	for i, res := range runs {
		want, err := readBytes(testFormats[0], res.encodeByArrow(t), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := readBytes(testFormats[0], res.encode(t, testFormats[0]), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(want, got); d != "" {
			t.Errorf("run %d (-want +got):\n%s", i, d)
		}
	}
}

// Files in other encodings than ours are read, also an encoding that arrow v15 cannot
// read itself (DELTA_BINARY_PACKED in lists).
func TestParquetEncodings(t *testing.T) {
	s := newRandom(4, 4)
	want := requests(60)
	for _, r := range want.requests[:50] {
		*r = *s.Request()
		r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	}
	numbers := func(e parquet.Encoding) []parquet.WriterProperty {
		var out []parquet.WriterProperty
		for _, f := range newSchema(fileMetadata{}, false).Fields() {
			if classOf(f.Type) == classInteger && !f.Nullable { // arrow v15's writer panics where all values are null
				out = append(out, parquet.WithEncodingFor(f.Name, e))
			}
		}
		for _, path := range []string{"recv_ns.list.element", "source.list.element", "read.list.element", "outputs.list.element.response"} {
			out = append(out, parquet.WithEncodingFor(path, e))
		}
		return out
	}
	var texts []parquet.WriterProperty
	for _, path := range []string{"message", "status", "inputs.list.element.value", "outputs.list.element.name", "outputs.list.element.value"} {
		texts = append(texts, parquet.WithEncodingFor(path, parquet.Encodings.DeltaLengthByteArray))
	}
	plain := parquet.WithDictionaryDefault(false)
	for _, tt := range []struct {
		name string
		opts []parquet.WriterProperty
		used parquet.Encoding
	}{
		{"dictionaries", []parquet.WriterProperty{parquet.WithDictionaryDefault(true)}, parquet.Encodings.RLEDict},
		{"deltas", append(numbers(parquet.Encodings.DeltaBinaryPacked), plain), parquet.Encodings.DeltaBinaryPacked},
		{"deltas in small pages", append(numbers(parquet.Encodings.DeltaBinaryPacked), plain, parquet.WithDataPageSize(64)), parquet.Encodings.DeltaBinaryPacked},
		{"delta lengths", append(texts, plain), parquet.Encodings.DeltaLengthByteArray},
		{"pages of version 2", []parquet.WriterProperty{plain, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Zstd)}, parquet.Encodings.Plain},
		{"snappy", []parquet.WriterProperty{plain, parquet.WithCompression(compress.Codecs.Snappy)}, parquet.Encodings.Plain},
		{"gzip", []parquet.WriterProperty{plain, parquet.WithCompression(compress.Codecs.Gzip)}, parquet.Encodings.Plain},
		{"small pages", []parquet.WriterProperty{plain, parquet.WithDataPageSize(100), parquet.WithBatchSize(10)}, parquet.Encodings.Plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := want.encodeByArrow(t, tt.opts...)
			if !slices.Contains(encodings(t, data)["recv_ns.list.element"], tt.used) && !slices.Contains(encodings(t, data)["outputs.list.element.value"], tt.used) {
				t.Fatalf("the file is not written as %s: %v", tt.used, encodings(t, data))
			}
			for _, sharers := range []int{1, manyFiles} {
				r, err := newParquetReader(t.Context(), "test", bytes.NewReader(data), int64(len(data)), export.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				r.Begin(export.Need{Share: sharers})
				got, err := read(r)
				if err != nil {
					t.Fatal(err)
				}
				if d := diff(want, got); d != "" {
					t.Errorf("of %d files (-want +got):\n%s", sharers, d)
				}
			}
		})
	}
}

// encodings returns the encodings of the first row group by column.
func encodings(t *testing.T, data []byte) map[string][]parquet.Encoding {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]parquet.Encoding{}
	for i := range r.MetaData().Schema.NumColumns() {
		c, err := r.MetaData().RowGroup(0).ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		out[c.PathInSchema().String()] = c.Encodings()
	}
	return out
}

// The footer names the encodings that the pages have, and schemas/columns.md names
// the same encodings. All pages have version 1.
func TestParquetOwnEncodings(t *testing.T) {
	data := requests(50).encode(t, testFormats[0])
	named := encodings(t, data)
	dictionaries := 0
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.MetaData().Schema.NumColumns() {
		c, err := r.MetaData().RowGroup(0).ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		if c.Compression() != compress.Codecs.Zstd {
			t.Errorf("%s is compressed by %s", c.PathInSchema(), c.Compression())
		}
		pages, err := r.RowGroup(0).GetColumnPageReader(i)
		if err != nil {
			t.Fatal(err)
		}
		path := c.PathInSchema().String()
		if c.HasDictionaryPage() {
			dictionaries++
			if !hasDictionary(path) {
				t.Errorf("%s has a dictionary", path)
			}
		}
		for pages.Next() {
			var encoding parquet.Encoding
			switch p := pages.Page().(type) {
			case *file.DataPageV1:
				encoding = parquet.Encoding(p.Encoding())
			case *file.DictionaryPage:
				encoding = parquet.Encoding(p.Encoding())
			default:
				t.Errorf("%s has a page of type %T", path, p)
			}
			if !slices.Contains(named[path], encoding) {
				t.Errorf("%s has a page in %s; the footer says %v", path, encoding, named[path])
			}
			want := []parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.RLEDict}
			switch c.Type() {
			case parquet.Types.Int64:
				want = append(want, parquet.Encodings.DeltaBinaryPacked)
			case parquet.Types.ByteArray:
				want = append(want, parquet.Encodings.DeltaByteArray)
			}
			if !slices.Contains(want, encoding) {
				t.Errorf("%s has a page in %s", path, encoding)
			}
		}
		if err := pages.Err(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if dictionaries < 5 {
		t.Errorf("%d columns have a dictionary", dictionaries)
	}
}

// Elements of lists can be null in the schema: arrow v15 would write that they
// cannot, and read that they can.
func TestSchemaElementsNullable(t *testing.T) {
	lists := 0
	for _, f := range newSchema(fileMetadata{}, false).Fields() {
		if l, ok := f.Type.(*arrow.ListType); ok {
			lists++
			if !l.ElemField().Nullable {
				t.Errorf("elements of %s", f.Name)
			}
		}
	}
	if lists != 9 {
		t.Errorf("%d lists", lists)
	}
}

// Batches are bounded in rows and in bytes. The test sets smaller bounds than usual, because it
// would take long to fill large batches.
func TestBatchBounds(t *testing.T) {
	const maxRows, maxBytes = 1000, 4 << 20
	text := []byte(strings.Repeat("x", 1<<20))
	for _, f := range testFormats {
		w, err := f.writer(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.BeginExperiment("", ""); err != nil {
			t.Fatal(err)
		}
		limitRows(w, maxRows)
		if usual := limitBytes(w, maxBytes); usual != maxBatchBytes || maxBatchBytes != maxGroupBytes {
			t.Errorf("%s: batches of %d bytes, want %d", f.name, usual, maxBatchBytes)
		}
		rows, size := 0, 0
		small := &export.Request{NoOutputs: true}
		for range maxRows + 10 {
			if err := w.WriteRequest(small); err != nil {
				t.Fatal(err)
			}
			n, _ := waiting(w)
			rows = max(rows, n)
		}
		large := &export.Request{Inputs: export.Fields{{Name: "a", Value: export.Value{Text: true, Data: text}}}}
		for range maxBytes>>20 + 3 {
			if err := w.WriteRequest(large); err != nil {
				t.Fatal(err)
			}
			_, n := waiting(w)
			size = max(size, n)
		}
		if rows != maxRows || size < maxBytes || size > maxBytes+2<<20 {
			t.Errorf("%s: batches of %d rows, of %d bytes", f.name, rows, size)
		}
		// A request that could overflow the offsets is refused; it takes no
		// memory here, as its outputs share theirs.
		huge := &export.Request{}
		for range maxRowBytes >> 20 {
			huge.Responses = append(huge.Responses, export.Response{Outputs: large.Inputs})
		}
		if err := w.WriteRequest(huge); err == nil || !strings.Contains(err.Error(), "more than the 1073741824 that a row can hold") {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// Every member of the data model has a column.
func TestEveryMember(t *testing.T) {
	var r export.Request
	names := map[any]string{}
	for _, s := range scalars {
		names[s.field(&r)] = s.name
	}
	v := reflect.ValueOf(&r).Elem()
	lists := []string{"Inputs", "Responses", "NoOutputs", "Extra", "Summary"} // Summary: of derived columns
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if _, ok := names[v.Field(i).Addr().Interface()]; !ok && !slices.Contains(lists, f.Name) {
			t.Errorf("no column holds Request.%s", f.Name)
		}
	}
	if len(names) != len(scalars) {
		t.Errorf("%d columns for %d members", len(scalars), len(names))
	}
	want := []string{"RecvNS", "Source", "Read", "Outputs", "Final", "Error"}
	x := reflect.TypeFor[export.Response]()
	for i := range x.NumField() {
		if !slices.Contains(want, x.Field(i).Name) {
			t.Errorf("no column holds Response.%s", x.Field(i).Name)
		}
	}
}

// Errors of the file are errors of the writer, wherever they happen.
func TestWriterFullDisk(t *testing.T) {
	res := requests(40)
	for _, f := range testFormats {
		whole := len(res.encode(t, f))
		for n := 0; n < whole; n += (1 + whole/50) * testenv.Stride(5) {
			w, err := f.writer(&testenv.FullDisk{Room: n})
			if err == nil {
				err = res.write(w, nil)
			}
			if !errors.Is(err, testenv.ErrFull) {
				t.Errorf("%s: full after %d of %d bytes: %v", f.name, n, whole, err)
			}
		}
	}
}

// The order of calls is checked, and the first error sticks.
func TestWriterErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(w export.Writer) error
		want string
	}{
		{"request first", func(w export.Writer) error { return w.WriteRequest(&export.Request{}) }, "WriteRequest outside an experiment"},
		{"end first", func(w export.Writer) error { return w.EndExperiment(&export.Experiment{}) }, "EndExperiment outside an experiment"},
		{"begin twice", func(w export.Writer) error { return errors.Join(w.BeginExperiment("", ""), w.BeginExperiment("", "")) }, "BeginExperiment within an experiment"},
		{"close in between", func(w export.Writer) error { return errors.Join(w.BeginExperiment("", ""), w.Close(nil)) }, "Close within an experiment"},
		{"begin after close", func(w export.Writer) error { return errors.Join(w.Close(nil), w.BeginExperiment("", "")) }, "BeginExperiment after Close"},
		{"value", func(w export.Writer) error { return w.BeginExperiment("m", "fast") }, `the value "fast" is not a JSON number`},
		{"status", func(w export.Writer) error {
			return errors.Join(w.BeginExperiment("", ""), w.WriteRequest(&export.Request{Status: 99}))
		}, `experiment 0, request 0: unknown status "invalid(99)"`},
		{"phase", func(w export.Writer) error {
			return errors.Join(w.BeginExperiment("", ""), w.WriteRequest(&export.Request{Phase: 99}))
		}, `unknown phase "invalid(99)"`},
		{"extra of an experiment", func(w export.Writer) error {
			return errors.Join(w.BeginExperiment("", ""), w.EndExperiment(&export.Experiment{Extra: export.Fields{{Name: "a", Value: export.JSON("{")}}}))
		}, `experiment 0: `},
		{"extra of the run", func(w export.Writer) error {
			return w.Close(&export.Run{Extra: export.Fields{{Name: "a", Value: export.JSON("{")}}})
		}, `the value of "a" is not JSON`},
	} {
		for _, f := range testFormats {
			w, err := f.writer(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			err = tt.do(w)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %s: %v, want %q", tt.name, f.name, err, tt.want)
			}
			if w.Close(nil) == nil {
				t.Errorf("%s: %s: the error does not stick", tt.name, f.name)
			}
		}
	}
}

// Random requests have values in each column of a field, or a round trip of them would not show that
// the column is lost.
func TestRandomFillsColumns(t *testing.T) {
	s := newRandom(1, 1)
	filled := map[string]bool{}
	value := func(name string, field any) { filled[name] = filled[name] || !reflect.ValueOf(field).Elem().IsZero() }
	for range 100 {
		r := s.Request()
		d := s.derived(len(r.Responses))
		for _, c := range scalars {
			value(c.name, c.field(r))
		}
		for _, c := range derivedScalars {
			value(c.name, c.derived(d))
		}
	}
	filled["stated"] = true // TestStatistics sets it
	for _, c := range slices.Concat(scalars, derivedScalars) {
		if !filled[c.name] {
			t.Errorf("%s has no value in 100 requests", c.name)
		}
	}
}
