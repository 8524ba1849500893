package exporttest

import (
	"bytes"
	"os"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// Write writes the requests that r has left into a file. The end of the name chooses Parquet, Arrow
// or JSON; a name that ends in .journal gets a journal.
func Write(t testing.TB, name string, r *memrun.Reader) {
	t.Helper()
	write(t, name, r, answer.NewDeriver(&r.Header))
}

// WriteEdited is Write for a table whose derived values edit changed after they were computed, as
// if the file had been edited.
func WriteEdited(t testing.TB, name string, r *memrun.Reader, edit func(r *export.Request, d *export.Derived)) {
	t.Helper()
	write(t, name, r, &editedDeriver{answer.NewDeriver(&r.Header), edit})
}

// An editedDeriver changes the derived values that a writer stores.
type editedDeriver struct {
	export.Deriver
	edit func(r *export.Request, d *export.Derived)
}

// Derive implements [export.Deriver].
func (e *editedDeriver) Derive(r *export.Request) *export.Derived {
	d := e.Deriver.Derive(r)
	e.edit(r, d)
	return d
}

// Fork implements [export.Deriver].
func (e *editedDeriver) Fork() export.Deriver {
	return &editedDeriver{e.Deriver.Fork(), e.edit}
}

func write(t testing.TB, name string, r *memrun.Reader, deriver export.Deriver) {
	t.Helper()
	var out bytes.Buffer
	var w export.Writer
	var err error
	if create, ok := formats.ForName(name); ok {
		w, err = create(&out, deriver)
	} else {
		w, err = recordlog.NewWriter(recordlog.To(&out), &r.Header)
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
