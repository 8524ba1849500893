package journal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// Which exports are refused, and why.
func TestNewExport(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there.json")
	if err := os.WriteFile(there, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		overwrite  bool
		want       string // "" for no error
	}{
		{"new", filepath.Join(dir, "new.json"), false, ""},
		{"there", there, false, there + ": the file exists"},
		{"there, to be replaced", there, true, ""},
		{"folder", dir, false, dir + ": is a directory; give a file name"},
		{"no folder", filepath.Join(dir, "no", "x.json"), false, "does not exist"},
		{"no name", "", false, "the name of an export is empty"},
		{"device", os.DevNull, false, ""},
		{"no format", filepath.Join(dir, "x.txt"), false, "x.txt: .txt is not an export format; use "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewExport(tt.path, tt.overwrite)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%q, overwrite %v: %v, want %q", tt.path, tt.overwrite, err, tt.want)
			}
			if errors.Is(err, ErrExists) != (tt.name == "there") {
				t.Errorf("%q: %v, is ErrExists", tt.path, err)
			}
		})
	}
}

// A Writer and Recover need an export, and no two that are one file.
func TestExportsOfWriter(t *testing.T) {
	e, err := NewExport(filepath.Join(t.TempDir(), "x.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		exports []*Export
		want    string
	}{{nil, "needs an export"}, {[]*Export{e, e}, "given twice"}} {
		if _, err := NewWriter(Config{Exports: tt.exports}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewWriter: %v, want %q", err, tt.want)
		}
		if _, err := Recover(t.Context(), "nothing", tt.exports); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Recover: %v, want %q", err, tt.want)
		}
	}
}

func newTestWriter(path string, overwrite bool) (*Writer, error) {
	e, err := NewExport(path, overwrite)
	if err != nil {
		return nil, err
	}
	return NewWriter(Config{Exports: []*Export{e}, Overwrite: overwrite})
}

// Two runs with one path: the second is refused, with and without --overwrite,
// and the first one's file is whole.
func TestTwoRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	first, err := newTestWriter(path, false)
	if err != nil {
		t.Fatal(err)
	}
	openWriter(t, first)
	if runtime.GOOS != "windows" { // there the removal fails instead
		for _, overwrite := range []bool{false, true} {
			if _, err := newTestWriter(path, overwrite); !errors.Is(err, ErrBusy) {
				t.Errorf("overwrite %v: %v, want a refusal", overwrite, err)
			}
		}
	}
	recordOne(t, first)
	if _, requests := exporttest.Read(t, path); len(requests) != 1 {
		t.Errorf("%d requests, want 1", len(requests))
	}
	if got := first.Written(); len(got) != 1 || got[0] != path {
		t.Errorf("written %q, want %q", got, path)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files %q, want the export alone", left)
	}
}

// A device is written in place and stays one.
func TestDevice(t *testing.T) {
	r, err := newTestWriter(os.DevNull, true)
	if err != nil {
		t.Fatal(err)
	}
	openWriter(t, r)
	recordOne(t, r)
	st, err := os.Stat(os.DevNull)
	if err != nil || st.Mode().IsRegular() {
		t.Fatalf("%s: %v, %v", os.DevNull, st, err)
	}
}

// An export that cannot be written leaves the journal, which recover takes.
func TestExportFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	r, err := newTestWriter(path, false)
	if err != nil {
		t.Fatal(err)
	}
	openWriter(t, r)
	if err := os.Mkdir(path, 0o700); err != nil { // in the way
		t.Fatal(err)
	}
	err = recordOneErr(r)
	var kept *KeptError
	if !errors.As(err, &kept) || kept.Path != r.Path() || kept.Requests != 1 || len(r.Written()) != 0 {
		t.Fatalf("%v, written %q; want an error that names the journal", err, r.Written())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	rec, err := Recover(t.Context(), kept.Path, r.cfg.Exports)
	if err != nil || rec.Requests != 1 || rec.Killed || rec.EndedEarly != "" || len(rec.Exports) != 1 || rec.Exports[0] != path {
		t.Fatalf("%+v, %v; want one request of a run that had ended, in %s", rec, err, path)
	}
	if _, requests := exporttest.Read(t, path); len(requests) != 1 {
		t.Errorf("%d requests, want 1", len(requests))
	}
}

// A sync that failed is an error of the run, even if nothing was written after it.
func TestUnsynced(t *testing.T) {
	r, err := newTestWriter(filepath.Join(t.TempDir(), "x.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	openWriter(t, r)
	r.queue.mu.Lock()
	r.queue.unsynced = syscall.EIO
	r.queue.mu.Unlock()
	if err := recordOneErr(r); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v, want the error of the sync", err)
	}
}

func openWriter(t *testing.T, r *Writer) {
	t.Helper()
	if err := r.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		t.Fatal(err)
	}
}

func recordOne(t *testing.T, r *Writer) {
	t.Helper()
	if err := recordOneErr(r); err != nil {
		t.Fatal(err)
	}
}

func recordOneErr(r *Writer) error {
	for _, f := range []func() error{
		func() error { return r.BeginExperiment(export.ModeConcurrency, "1") },
		func() error {
			return r.WriteRequest(&export.Request{StartNS: 1, Inputs: export.Fields{}, Responses: []export.Response{{RecvNS: 2}}, Status: export.StatusOK, Phase: export.PhaseMeasured})
		},
		r.Flush,
		func() error { return r.EndExperiment(&export.Experiment{}) },
		func() error { return r.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema, EndNS: 9}}) },
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
