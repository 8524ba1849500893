//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// A run keeps all requests if another program removes or replaces its journal, and the remaining
// requests if another program cuts it. The journal moves at once, so that a kill loses nothing either.
func TestJournalMeddledWith(t *testing.T) {
	for _, tt := range []struct {
		name   string
		meddle func(dir, journal string) error
		kept   int // requests in the export, of 4
		warn   string
		err    string
	}{
		{"folder removed", func(dir, _ string) error { return os.RemoveAll(dir) }, 4, "it was removed or renamed during the run; the recording continues in ", ""},
		{"journal removed", func(_, j string) error { return os.Remove(j) }, 4, "was removed or renamed", ""},
		{"journal replaced", func(_, j string) error {
			return errors.Join(os.Remove(j), os.WriteFile(j, []byte("another's"), 0o600))
		}, 4, "was removed or renamed", ""},
		{"journal emptied", func(_, j string) error { return os.Truncate(j, 0) }, 2, "another program cut it to 0 bytes", "another program cut it to 0 bytes while it was being written; requests lost: 2; requests kept: 2, in "},
		{"journal cut", func(_, j string) error {
			st, err := os.Stat(j)
			return errors.Join(err, os.Truncate(j, st.Size()-1))
		}, 3, "another program cut it to ", "; requests lost: 1; requests kept: 3, in "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spill := t.TempDir()
			dir := filepath.Join(t.TempDir(), "artifacts")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "run.json")
			e, err := NewExport(path, false)
			if err != nil {
				t.Fatal(err)
			}
			var warned []string
			r, err := NewWriter(Config{Exports: []*Export{e}, SpillDir: spill, Warn: func(text string) { warned = append(warned, text) }})
			if err != nil {
				t.Fatal(err)
			}
			run := &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
			if err := r.Open(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			write := func() error {
				err := errors.Join(
					r.WriteRequest(&export.Request{StartNS: 1, Inputs: export.Fields{}, Responses: []export.Response{{RecvNS: 2}}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}),
					r.Flush())
				for err == nil && r.queue.Waiting() > 0 { // until it is in the file
					err = r.queue.Err()
				}
				return err
			}
			if err := errors.Join(r.BeginExperiment(export.ModeConcurrency, "1"), write(), write()); err != nil {
				t.Fatal(err)
			}
			if err := tt.meddle(dir, r.path); err != nil {
				t.Fatal(err)
			}
			err = errors.Join(write(), write(), r.EndExperiment(&export.Experiment{})) // ends the run, if it is an error
			if closeErr := r.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema, EndNS: 9}}); (closeErr != nil) != (tt.err != "") || !strings.Contains(fmt.Sprint(closeErr), tt.err) {
				t.Errorf("Close: %v, after %v; want %q", closeErr, err, tt.err)
			}
			if len(warned) != 1 || !strings.Contains(warned[0], tt.warn) || !strings.Contains(warned[0], spill) {
				t.Errorf("warned %q, want %q once", warned, tt.warn)
			}
			written, requests := exporttest.Read(t, path)
			if len(requests) != tt.kept || written.Meta.EndNS != 9 || len(written.Experiments) != 1 {
				t.Errorf("%d requests of %+v, want %d", len(requests), written, tt.kept)
			}
			if lost := 4 - tt.kept; lost > 0 && (len(written.Meta.Warnings) != 1 || !strings.HasPrefix(written.Meta.Warnings[0], fmt.Sprintf("requests lost: %d, because another program cut the journal", lost))) {
				t.Errorf("the export warns %q, want the loss of %d", written.Meta.Warnings, lost)
			}
			if left := append(glob(t, spill), glob(t, filepath.Join(dir, "*.arrows"))...); tt.name != "journal replaced" && len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// glob returns the names in a folder, or those that match a pattern.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	if st, err := os.Stat(pattern); err == nil && st.IsDir() {
		pattern = filepath.Join(pattern, "*")
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A fullDisk has room for some more bytes, and writes the last write in part.
type fullDisk struct {
	*os.File
	room int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		n, _ := d.File.Write(b[:d.room])
		d.room -= n
		return n, &os.PathError{Op: "write", Path: d.Name(), Err: syscall.ENOSPC}
	}
	d.room -= len(b)
	return d.File.Write(b)
}

// startOnFullDisk records two requests on a disk with room for about one of them.
func startOnFullDisk(t *testing.T, cfg Config) *Writer {
	t.Helper()
	w, err := NewWriter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		t.Fatal(err)
	}
	w.queue.dst = &fullDisk{w.file, 25_000} // nothing was written yet
	err = w.BeginExperiment(export.ModeConcurrency, "1")
	for i := range 4 {
		err = errors.Join(err,
			w.WriteRequest(&export.Request{ID: uint64(i), StartNS: 1, Inputs: export.Fields{}, Responses: []export.Response{{RecvNS: 2}}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}),
			w.Flush())
		for err == nil && w.queue.Waiting() > 0 {
			err = w.queue.Err()
		}
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	return w
}

// A journal whose disk is full continues in another folder. If the run is then killed, the link
// in the journal's place leads to all recorded requests, and Recover removes both files; a second
// run is refused. If the run ends, its export is complete.
func TestJournalMoves(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			dir, spill := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "run.json")
			e, err := NewExport(path, false)
			if err != nil {
				t.Fatal(err)
			}
			var warned []string
			w := startOnFullDisk(t, Config{Exports: []*Export{e}, SpillDir: spill, Warn: func(text string) { warned = append(warned, text) }})
			at := PathFor(path)
			moved := glob(t, spill)
			if len(moved) != 1 || w.Path() != moved[0] {
				t.Fatalf("in the second folder: %q; the journal is %s", moved, w.Path())
			}
			if want := fmt.Sprintf("journal %s: no space left on device; the recording continues in %s", at, moved[0]); len(warned) != 1 || warned[0] != want {
				t.Errorf("warned %q, want %q", warned, want)
			}
			if _, err := NewWriter(w.cfg); !errors.Is(err, ErrBusy) {
				t.Errorf("a second run: %v, want %v", err, ErrBusy)
			}
			if killed {
				_ = w.file.Close() // and with it the lock
				_ = w.queue.Close()
				if _, err := NewWriter(w.cfg); !errors.Is(err, ErrLeftover) {
					t.Errorf("a run after the kill: %v, want %v", err, ErrLeftover)
				}
				rec, err := Recover(t.Context(), at, w.cfg.Exports)
				if err != nil || rec.Requests != 4 || !rec.Killed {
					t.Fatalf("Recover = %+v, %v; want 4 requests of a killed run", rec, err)
				}
			} else if err := errors.Join(w.EndExperiment(&export.Experiment{}), w.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema, EndNS: 9}})); err != nil {
				t.Fatal(err)
			}
			run, requests := exporttest.Read(t, path)
			if len(requests) != 4 || len(run.Meta.Warnings) != 0 || (run.Meta.Interrupted == "killed") != killed {
				t.Errorf("%d requests, %+v; want 4, no warning, killed %v", len(requests), run.Meta, killed)
			}
			if left := append(glob(t, spill), glob(t, dir)...); len(left) != 1 || left[0] != path {
				t.Errorf("left: %q, want the export alone", left)
			}
		})
	}
}

// A journal that cannot move ends: the first file keeps its blocks.
func TestJournalCannotMove(t *testing.T) {
	dir := t.TempDir()
	e, err := NewExport(filepath.Join(dir, "run.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	spill := filepath.Join(dir, "none")
	w, err := NewWriter(Config{Exports: []*Export{e}, SpillDir: spill})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		t.Fatal(err)
	}
	w.queue.dst = &fullDisk{w.file, 25_000}
	err = w.BeginExperiment(export.ModeConcurrency, "1")
	for range 1000 {
		err = errors.Join(err, w.WriteRequest(&export.Request{StartNS: 1, Inputs: export.Fields{}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}), w.Flush())
		if err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "it cannot be moved to "+spill) {
		t.Fatalf("error %v, want a full disk, and no second folder", err)
	}
	err = w.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema, EndNS: 9}})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v, want a full disk", err)
	}
	run, requests := exporttest.Read(t, filepath.Join(dir, "run.json"))
	if len(requests) == 0 || len(run.Meta.Warnings) != 1 || !strings.Contains(run.Meta.Warnings[0], "no space left on device") {
		t.Errorf("%d requests, warnings %q; want what the journal held, and why it ended", len(requests), run.Meta.Warnings)
	}
}
