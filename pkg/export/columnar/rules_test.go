package columnar

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/writeorder"
)

// This file holds a test for each of the traps of arrow v15 that the package
// avoids. Each of them fails when its countermeasure is taken out.

// A copyCounter counts the bytes that are copied by reallocation.
type copyCounter struct {
	memory.Allocator
	copied atomic.Int64
}

func (c *copyCounter) Reallocate(size int, b []byte) []byte {
	if size > cap(b) {
		c.copied.Add(int64(len(b)))
	}
	return c.Allocator.Reallocate(size, b)
}

// Lists are written without copying their levels again and again.
func TestParquetListsCopies(t *testing.T) {
	const responses = 100
	res := requests(0)
	for i := range 600 {
		r := &export.Request{StartNS: uint64(i), NoOutputs: true}
		for k := range responses {
			r.Responses = append(r.Responses, export.Response{RecvNS: uint64(i*responses + k)})
		}
		res.requests = append(res.requests, r)
		res.level = append(res.level, 0)
	}
	old := memory.DefaultAllocator
	defer func() { memory.DefaultAllocator = old }()
	copied := func(with memory.Allocator) int64 {
		c := &copyCounter{Allocator: with}
		memory.DefaultAllocator = c
		runtime.GC() // buffers of another allocator leave their pool
		runtime.GC()
		res.encode(t, testFormats[0])
		return c.copied.Load()
	}
	ours, theirs := copied(old), copied(memory.NewGoAllocator())
	raw := int64(len(res.requests) * responses * 8)
	if _, ok := old.(growAllocator); !ok {
		t.Errorf("the allocator is %T", old)
	}
	if ours > 20*raw {
		t.Errorf("%d bytes were copied for %d bytes of values", ours, raw)
	}
	if theirs < 4*ours {
		t.Errorf("Go's allocator copies %d bytes, this one %d: the test sees no difference", theirs, ours)
	}
}

// arrowParquet writes batches with arrow's own writer of Parquet.
type arrowParquet struct {
	parquetSink
	w *pqarrow.FileWriter
}

func (a *arrowParquet) write(rec arrow.Record) error { return a.w.Write(rec) }

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

// Our files hold what arrow's own writer writes of the same batches. They are not the same
// bytes: where a column has no value, arrow's writer makes statistics of nothing.
func TestParquetAsArrow(t *testing.T) {
	files := goldenExports(t)
	var runs []*result
	for seed := range uint64(12) {
		runs = append(runs, random{rand.New(rand.NewPCG(seed, 2))}.run(6))
	}
	runs = append(runs, requests(0), requests(500))
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(12) > 0 {
			continue
		}
		res, err := read(readJSON(t, files[name]))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, res)
	}
	for i, res := range runs {
		schema := newSchema(fileMetadata{}, false)
		var out bytes.Buffer
		sink := &arrowParquet{parquetSink: parquetSink{file: newCountingWriter(&out)}}
		var err error
		sink.w, err = pqarrow.NewFileWriter(schema, sink.file, parquetProperties(), pqarrow.DefaultWriterProps())
		if err == nil {
			err = res.write(&Writer{calls: writeorder.Checker{Format: "Parquet"}, sink: sink, batch: newBatch(schema, nil)}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		want, err := readBytes(testFormats[0], out.Bytes(), export.Limits{})
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

// rewriteParquet writes data again with arrow's own reader and writer.
func rewriteParquet(t *testing.T, data []byte, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := pqarrow.WriteTable(table, &out, 50, parquet.NewWriterProperties(opts...), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Files in other encodings than ours are read, those that arrow v15 cannot read
// itself (DELTA_BINARY_PACKED in lists) among them.
func TestParquetEncodings(t *testing.T) {
	s := random{rand.New(rand.NewPCG(4, 4))}
	want := requests(120)
	for _, r := range want.requests[:100] {
		*r = *s.request()
		r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	}
	data := want.encode(t, testFormats[0])
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
			again := rewriteParquet(t, data, tt.opts...)
			if !slices.Contains(encodings(t, again)["recv_ns.list.element"], tt.used) && !slices.Contains(encodings(t, again)["outputs.list.element.value"], tt.used) {
				t.Fatalf("the file is not written as %s: %v", tt.used, encodings(t, again))
			}
			got, err := readBytes(testFormats[0], again, export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			// arrow v15 does not keep the header.
			if d := cmp.Diff(want.requests, got.requests); d != "" || !slices.Equal(want.level, got.level) {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// encodings returns those of the first row group by column.
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

// Our own files hold nothing that arrow v15 writes wrongly, or cannot read:
// neither DELTA_BYTE_ARRAY nor DELTA_BINARY_PACKED, and pages of version 1.
func TestParquetOwnEncodings(t *testing.T) {
	data := requests(50).encode(t, testFormats[0])
	ok := []parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.RLE, parquet.Encodings.RLEDict, parquet.Encodings.PlainDict}
	for path, have := range encodings(t, data) {
		for _, e := range have {
			if !slices.Contains(ok, e) {
				t.Errorf("%s is encoded as %s", path, e)
			}
		}
		if dict := slices.Contains(have, parquet.Encodings.RLEDict) || slices.Contains(have, parquet.Encodings.PlainDict); dict != slices.Contains(dictionaryPaths[:], path) {
			t.Errorf("%s has a dictionary: %v", path, dict)
		}
	}
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
		for pages.Next() {
			if _, v2 := pages.Page().(*file.DataPageV2); v2 {
				t.Errorf("%s has a page of version 2", c.PathInSchema())
			}
		}
	}
	// And arrow's own reader reads them.
	if again := rewriteParquet(t, data); len(again) == 0 {
		t.Error("not read")
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

// Batches are bounded in rows and in bytes.
func TestBatchBounds(t *testing.T) {
	text := []byte(strings.Repeat("x", 1<<20))
	for _, f := range testFormats {
		w, err := f.writer(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.BeginExperiment("", ""); err != nil {
			t.Fatal(err)
		}
		b := batchOf(w)
		b.maxRows = min(b.maxRows, maxBatchRows)
		rows, size := 0, 0
		small := &export.Request{NoOutputs: true}
		for range maxBatchRows + 10 {
			if err := w.WriteRequest(small); err != nil {
				t.Fatal(err)
			}
			rows = max(rows, batchOf(w).rows)
		}
		large := &export.Request{Inputs: export.Fields{{Name: "a", Value: export.Value{Text: true, Data: text}}}}
		for range b.maxBytes>>20 + 3 {
			if err := w.WriteRequest(large); err != nil {
				t.Fatal(err)
			}
			size = max(size, batchOf(w).size())
		}
		if rows != maxBatchRows || size < b.maxBytes || size > b.maxBytes+2<<20 {
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
	lists := []string{"Inputs", "Responses", "NoOutputs", "Extra"}
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
			w, err := f.writer(&fullDisk{n})
			if err == nil {
				err = res.write(w, nil)
			}
			if !errors.Is(err, errFull) {
				t.Errorf("%s: full after %d of %d bytes: %v", f.name, n, whole, err)
			}
		}
	}
}

// fullDisk takes n bytes.
type fullDisk struct{ n int }

var errFull = errors.New("no space left on device")

func (f *fullDisk) Write(b []byte) (int, error) {
	if len(b) > f.n {
		return f.n, errFull
	}
	f.n -= len(b)
	return len(b), nil
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
