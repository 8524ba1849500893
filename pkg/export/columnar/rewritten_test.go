package columnar

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files in testdata/rewritten are run.json, written by this package, then read and
// written again by the tool in their name: pyarrow 26.0.1 (once with every delta encoding,
// pages of version 2 and small row groups), pandas 3.1.1, DuckDB 2.0.0 and polars 2.1.0. The
// last three drop the header. Theirs have unsigned times and no derived columns.
func TestRewritten(t *testing.T) {
	text, err := os.ReadFile("testdata/rewritten/run.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := read(readJSON(t, text))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/rewritten/*.[ap]*")
	if err != nil || len(files) != 7 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f := testFormats[0]
			if filepath.Ext(path) == ".arrow" {
				f = testFormats[1]
			}
			r := f.open(t, data)
			got, err := read(r)
			if err != nil {
				t.Fatal(err)
			}
			if d := difference(want.requests, got.requests); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if strings.Contains(path, "pyarrow") {
				if d := difference(want.run, got.run); d != "" || len(r.Warnings()) > 0 {
					t.Errorf("warnings %v, (-want +got):\n%s", r.Warnings(), d)
				}
			} else if w := r.Warnings(); len(w) != 1 || !strings.Contains(w[0].String(), `the file has no metadata "pa.run"`) || len(got.run.Experiments) != 1 {
				t.Errorf("warnings %v, %d experiments", w, len(got.run.Experiments))
			}
		})
	}
}

// A table of something else is refused.
func TestForeignTable(t *testing.T) {
	for _, name := range []string{"foreign.parquet", "foreign.arrow", "later.parquet", "floats.parquet", "string_view.arrow"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		f := testFormats[0]
		if strings.HasSuffix(name, ".arrow") {
			f = testFormats[1]
		}
		want := map[string]string{
			"foreign.parquet":   "x: holds no requests: column start_ns of pa-columns/2 is missing",
			"foreign.arrow":     "x: holds no requests: column start_ns of pa-columns/2 is missing",
			"later.parquet":     `x: the file has format "pa-columns/3", but this program reads pa-columns/2; use a newer version of it`,
			"floats.parquet":    "x: column sent_ns: expected int64, found DOUBLE",
			"string_view.arrow": "column status: expected utf8, found string_view; rewrite it with that type, or as Parquet",
		}[name]
		if _, err := readDamaged(t, f, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
