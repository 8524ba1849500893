package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// The exports of a damaged journal have the requests before the damage. The journal stays, because
// it has more, and the error says so.
func TestDamagedJournal(t *testing.T) {
	request := func(id uint64) *export.Request {
		return &export.Request{ID: id, StartNS: 1, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured, Message: "overheated"}
	}
	damage := func(t *testing.T, journal string) {
		t.Helper()
		data, err := os.ReadFile(journal)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(journal, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte("x"), int64(bytes.LastIndex(data, []byte("overheated"))))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(t *testing.T, path string, err error, wants ...string) {
		t.Helper()
		var corrupt *recordlog.CorruptionError
		if !errors.As(err, &corrupt) {
			t.Fatalf("%v, want a CorruptionError", err)
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, requests := exporttest.Read(t, path); len(requests) != 2 {
			t.Errorf("%d requests are exported, want 2", len(requests))
		}
		if _, err := os.Stat(PathFor(path)); err != nil {
			t.Error(err)
		}
	}
	t.Run("Recover", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.json")
		f, err := os.Create(PathFor(path))
		if err != nil {
			t.Fatal(err)
		}
		w, err := recordlog.NewWriter(recordlog.To(f), nil)
		if err := errors.Join(err, w.BeginExperiment("m", "1"), w.WriteRequest(request(1)), w.WriteRequest(request(2)), w.WriteRequest(request(3)), w.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
		damage(t, f.Name())
		e, err := NewExport(path, false)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := Recover(t.Context(), f.Name(), []*Export{e})
		if rec == nil || rec.Requests != 2 || len(rec.Exports) != 1 {
			t.Errorf("recovered %+v, want 2 requests", rec)
		}
		check(t, path, err, "the checksum of the frame is ", "; the journal is kept")
	})
	t.Run("Close", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.json")
		w, err := newTestWriter(path, false)
		if err != nil {
			t.Fatal(err)
		}
		openWriter(t, w)
		if err := errors.Join(w.BeginExperiment("m", "1"), w.WriteRequest(request(1)), w.WriteRequest(request(2)), w.WriteRequest(request(3)), w.EndExperiment(&export.Experiment{})); err != nil {
			t.Fatal(err)
		}
		for w.queue.State().waiting > 0 { // until they are in the file
			runtime.Gosched()
		}
		damage(t, w.Path())
		check(t, path, w.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema}}), "requests kept: 2, in ", "; the journal is kept, too")
	})
}
