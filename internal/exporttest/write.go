package exporttest

import (
	"bytes"
	"os"
	"testing"

	"github.com/pa-tools/pa/internal/memrun"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// Write writes the requests that r has left into a file. The end of the name chooses Parquet, Arrow
// or JSON; a name that ends in .arrows gets a journal.
func Write(t testing.TB, name string, r *memrun.Reader) {
	t.Helper()
	var out bytes.Buffer
	var w export.Writer
	var err error
	if create, ok := formats.ForName(name); ok {
		w, err = create(&out, answer.NewDeriver(&r.Header))
	} else {
		w, err = columnar.NewJournalWriter(&out, &r.Header)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := export.Copy(t.Context(), w, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
