//go:build unix

package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
)

// modeOf returns the mode of the file at path, of a link its own.
func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode()
}

// Only the owner may read a journal and a new export; a replaced export keeps its mode.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	// An empty journal of a run that another release began.
	if err := errors.Join(os.WriteFile(PathFor(path), nil, 0o600), os.Chmod(PathFor(path), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []fs.FileMode{0o600, 0o644} {
		w, err := newTestWriter(path, true)
		if err != nil {
			t.Fatal(err)
		}
		openWriter(t, w)
		if got := modeOf(t, w.Path()); got != 0o600 {
			t.Errorf("the journal: %v, want 0600", got)
		}
		recordOne(t, w)
		if got := modeOf(t, path); got != want {
			t.Errorf("the export: %v, want %v", got, want)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A recovered export has the mode of the journal, whatever it is.
func TestRecoverKeepsMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o644, 0o664} {
		dir := t.TempDir()
		path, second := filepath.Join(dir, "x.json"), filepath.Join(dir, "y.parquet")
		w, err := newTestWriter(path, false)
		if err != nil {
			t.Fatal(err)
		}
		openWriter(t, w)
		if err := os.Mkdir(path, 0o700); err != nil { // in the way
			t.Fatal(err)
		}
		var kept *KeptError
		if err := recordOneErr(w); !errors.As(err, &kept) {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(path), os.Chmod(kept.Path, mode)); err != nil {
			t.Fatal(err)
		}
		var exports []*Export
		for _, p := range []string{path, second} {
			e, err := NewExport(p, false)
			if err != nil {
				t.Fatal(err)
			}
			exports = append(exports, e)
		}
		if _, err := Recover(t.Context(), kept.Path, exports); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, second} {
			if got := modeOf(t, p); got != mode {
				t.Errorf("%s: %v, want %v", filepath.Base(p), got, mode)
			}
		}
	}
}

// An export that is a link is written through, and only if it may be overwritten, also if
// the link leads to nothing.
func TestExportIsLink(t *testing.T) {
	for _, there := range []bool{true, false} {
		dir := t.TempDir()
		link, file := filepath.Join(dir, "x.json"), filepath.Join(dir, "sub", "file.json")
		err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.Symlink("sub/file.json", link))
		if there {
			err = errors.Join(err, os.WriteFile(file, []byte("old"), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newTestWriter(link, false); !errors.Is(err, ErrExists) {
			t.Errorf("file %v, without overwrite: %v", there, err)
		}
		w, err := newTestWriter(link, true)
		if err != nil {
			t.Fatal(err)
		}
		openWriter(t, w)
		recordOne(t, w)
		if got := modeOf(t, link); got&fs.ModeSymlink == 0 {
			t.Errorf("file %v: the link is %v", there, got)
		}
		if _, requests := exporttest.Read(t, file); len(requests) != 1 {
			t.Errorf("file %v: %d requests", there, len(requests))
		}
	}
}

// A link that appears after NewExport is not followed either.
func TestLinkAppears(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "x.json"), filepath.Join(dir, "victim")
	w, err := newTestWriter(path, false)
	if err != nil {
		t.Fatal(err)
	}
	openWriter(t, w)
	if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim, path)); err != nil {
		t.Fatal(err)
	}
	var kept *KeptError
	if err := recordOneErr(w); !errors.As(err, &kept) || kept.Requests != 1 {
		t.Errorf("Close: %v, want the journal kept", err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the file behind the link holds %q, %v", b, err)
	}
}

// An export that is a pipe without a reader is refused before the run, which leaves nothing.
func TestExportWithoutReader(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "p.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var exports []*Export
	for _, p := range []string{filepath.Join(dir, "x.json"), pipe} {
		e, err := NewExport(p, false)
		if err != nil {
			t.Fatal(err)
		}
		exports = append(exports, e)
	}
	w, err := NewWriter(Config{Exports: exports})
	if err != nil {
		t.Fatal(err)
	}
	var fe *FileError
	if err := w.Open(t.Context(), nil); !errors.Is(err, ErrNoReader) || !errors.As(err, &fe) || fe.Path != pipe {
		t.Errorf("Open: %v", err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("left: %v", all)
	}
}
