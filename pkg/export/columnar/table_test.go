package columnar

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// tableFile is a table that pyarrow wrote: see testdata/table.py.
const tableFile = "testdata/table.parquet"

func openTable(t testing.TB, path string) *Table {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := OpenTable(t.Context(), path, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// A table that pyarrow wrote holds what Python's json writes of the same rows.
func TestTable(t *testing.T) {
	tab := openTable(t, tableFile)
	if want := []string{"decimal", "lists", "nested"}; !slices.Equal(tab.LeftOut(), want) {
		t.Errorf("left out %q, want %q", tab.LeftOut(), want)
	}
	text, err := os.ReadFile("testdata/table.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	n := 0
	for ; tab.Next(); n++ {
		got := map[string]any{}
		for i, f := range tab.Row() {
			if f.Name != tab.columns[i].name {
				t.Fatalf("row %d: column %d is %q, want %q", n, i, f.Name, tab.columns[i].name)
			}
			got[f.Name] = decodeJSON(t, f.Value.Data)
		}
		if n >= len(lines) {
			continue
		}
		if diff := cmp.Diff(decodeJSON(t, []byte(lines[n])), any(got)); diff != "" {
			t.Fatalf("row %d (-want +got):\n%s", n, diff)
		}
	}
	if tab.Err() != nil || n != len(lines) {
		t.Errorf("%d rows, error %v; want %d", n, tab.Err(), len(lines))
	}
}

// decodeJSON keeps the text of integers, which may be larger than a float holds.
func decodeJSON(t *testing.T, js []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return plain(v)
}

// plain makes floats of numbers with a point.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && (f < 1<<53 && f > -(1<<53)) {
			return f
		}
		return string(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// Our own exports, and files of other tools, are tables too.
func TestTableOfExports(t *testing.T) {
	for _, path := range []string{"testdata/foreign.parquet", "testdata/rewritten/duckdb.parquet", "testdata/rewritten/pandas.parquet", "testdata/rewritten/polars.parquet", "testdata/rewritten/pyarrow_deltas.parquet"} {
		tab := openTable(t, path)
		n := 0
		for tab.Next() {
			for _, f := range tab.Row() {
				if !json.Valid(f.Value.Data) {
					t.Fatalf("%s: row %d: %s is %q", path, n, f.Name, f.Value.Data)
				}
			}
			n++
		}
		if tab.Err() != nil || n == 0 {
			t.Errorf("%s: %d rows, error %v", path, n, tab.Err())
		}
	}
}

func TestTableErrors(t *testing.T) {
	b, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTable(t.Context(), "x", bytes.NewReader(b[:len(b)-1]), int64(len(b)-1), export.Limits{}); err == nil || !strings.Contains(err.Error(), "footer of the Parquet file") {
		t.Errorf("a file that is cut: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tab, err := OpenTable(ctx, "x", bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if tab.Next() || tab.Err() == nil {
		t.Errorf("a context that is done: error %v", tab.Err())
	}
}

// drainTable reads all of a table.
func drainTable(t *testing.T, b []byte) {
	tab, err := OpenTable(t.Context(), "x", bytes.NewReader(b), int64(len(b)), export.Limits{MaxValueBytes: 1 << 20})
	if err != nil {
		return
	}
	for tab.Next() {
		tab.Row()
	}
}

// For any damaged file, reading ends and does not panic.
func FuzzTable(f *testing.F) {
	for _, path := range []string{tableFile, "testdata/rewritten/pyarrow_deltas.parquet"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint32(0), byte(0))
		f.Add(b, uint32(1000), byte(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint32, mask byte) {
		if len(b) == 0 {
			return
		}
		b = bytes.Clone(b)
		b[int(at)%len(b)] ^= mask
		testenv.BoundMemory(t, len(b), 64<<20, 1000, func() { drainTable(t, b) })
		tab, err := OpenTable(t.Context(), "x", bytes.NewReader(b), int64(len(b)), export.Limits{MaxValueBytes: 1 << 20})
		if err != nil {
			return
		}
		for tab.Next() {
			for _, f := range tab.Row() {
				if !json.Valid(f.Value.Data) {
					t.Fatalf("%s is %q", f.Name, f.Value.Data)
				}
			}
		}
	})
}
