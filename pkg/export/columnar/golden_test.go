package columnar

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A testFormat is a format under test.
type testFormat struct {
	name   string
	format export.Format
	writer func(w io.Writer) (export.Writer, error)
}

var testFormats = []testFormat{
	{"parquet", Parquet(), func(w io.Writer) (export.Writer, error) { return NewParquetWriter(w, nil) }},
	{"arrow", Arrow(), func(w io.Writer) (export.Writer, error) { return NewArrowWriter(w, nil) }},
}

// encode writes all that r delivers.
func (f testFormat) encode(t testing.TB, r export.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := f.writer(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(export.Copy(context.Background(), w, r), r.Err()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (f testFormat) open(t testing.TB, data []byte) export.Reader {
	t.Helper()
	if !f.format.Sniff(data[:min(len(data), 4096)]) {
		t.Fatalf("%s does not recognize its own file", f.name)
	}
	r, err := f.format.Open(context.Background(), "x."+f.name, bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readJSON(t testing.TB, data []byte) export.Reader {
	t.Helper()
	r, err := profilejson.NewReader(context.Background(), "x.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func toJSON(t testing.TB, r export.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := export.Copy(context.Background(), profilejson.NewWriter(&out), r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A file of perf_analyzer comes back byte for byte from each format.
func TestGolden(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for _, f := range testFormats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for i, name := range slices.Sorted(maps.Keys(files)) {
				if i%testenv.Stride(4) > 0 {
					continue
				}
				want := files[name]
				r := f.open(t, f.encode(t, readJSON(t, want)))
				got := toJSON(t, r)
				if err := errors.Join(r.Err(), r.Close()); err != nil || len(r.Warnings()) > 0 {
					t.Fatalf("%s: %v, warnings %v", name, err, r.Warnings())
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %s", name, golden.FirstDifference(got, want))
				}
			}
		})
	}
}

// Formats recognize their own files and no others'.
func TestSniff(t *testing.T) {
	doc := []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[]}]}`)
	for _, f := range testFormats {
		data := f.encode(t, readJSON(t, doc))
		var by []string
		for _, g := range Formats() {
			if g.Sniff(data) {
				by = append(by, strings.ToLower(g.Name()))
			}
		}
		if len(by) != 1 || by[0] != f.name || (profilejson.Format{}).Sniff(data) {
			t.Errorf("%s is recognized by %v", f.name, by)
		}
		if f.format.Sniff(doc) || f.format.Sniff(nil) {
			t.Errorf("%s recognizes what is not its own", f.name)
		}
	}
}
