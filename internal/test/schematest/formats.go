package schematest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Formats compares each format of a result with its golden file testdata/NAME.txt, .md, .csv, .json or .xml, if has
// says that there is one. JSON follows the schema in any case. With update, Formats writes the files first.
func (s Schema) Formats(t *testing.T, name string, f *sheet.Formats, width int, has func(ext string) bool, update bool) {
	t.Helper()
	for ext, format := range map[string]string{"txt": "text", "md": "markdown", "csv": "csv", "json": "json", "xml": "junit"} {
		if ext == "csv" && f.CSV == nil || ext == "xml" && f.JUnit == nil {
			continue
		}
		var b bytes.Buffer
		if err := f.In(format, width)(&b); err != nil {
			t.Fatal(err)
		}
		if ext == "json" {
			if err := s.Check(t, b.Bytes()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !has(ext) {
			continue
		}
		file := filepath.Join("testdata", name+"."+ext)
		if update {
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

// CSV checks that schemas/NAME describes the columns of CSV, in their order, and each record that some result has,
// and that the rows of the results have no other columns.
func CSV(t *testing.T, name string, results []*sheet.Formats) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("../../../schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	columns := results[0].Columns
	_, rest, _ := strings.Cut(string(doc), "| column | holds |")
	for _, column := range columns {
		var found bool
		if _, rest, found = strings.Cut(rest, "`"+column+"`"); !found {
			t.Fatalf("column %s is not described, or not in its place", column)
		}
	}
	seen := map[string]bool{}
	for _, f := range results {
		for _, row := range f.CSV() {
			seen[row["record"]] = true
			for column := range row {
				if !slices.Contains(columns, column) {
					t.Errorf("%s is no column", column)
				}
			}
		}
	}
	_, records, _ := strings.Cut(string(doc), "| `record` | one line for each |")
	for record := range seen {
		if !strings.Contains(records, "| `"+record+"` |") {
			t.Errorf("record %s is not described", record)
		}
	}
	if len(seen) != strings.Count(records, "\n| `") {
		t.Errorf("the results have the records %v, the document others", seen)
	}
}
