//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
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
				for err == nil && r.queue.State().waiting > 0 { // until it is in the file
					err = r.queue.State().err
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
			if left := append(glob(t, spill), glob(t, filepath.Join(dir, "*.journal"))...); tt.name != "journal replaced" && len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// glob returns the names in a folder, or the names that match a pattern.
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

// A slowFullDisk is a fullDisk that writes once its channel is closed.
type slowFullDisk struct {
	*fullDisk
	writes chan struct{}
}

func (d slowFullDisk) Write(b []byte) (int, error) {
	<-d.writes
	return d.fullDisk.Write(b)
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
	w.queue.dst = &fullDisk{w.file, 200} // nothing was written yet
	err = w.BeginExperiment(export.ModeConcurrency, "1")
	for i := range 4 {
		err = errors.Join(err,
			w.WriteRequest(&export.Request{ID: uint64(i), StartNS: 1, Inputs: export.Fields{}, Responses: []export.Response{{RecvNS: 2}}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}),
			w.Flush())
		for err == nil && w.queue.State().waiting > 0 {
			err = w.queue.State().err
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
			if st, err := os.Stat(moved[0]); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("the second file: %v, %v; want one that only its owner reads", st.Mode(), err)
			}
			if want := fmt.Sprintf("journal %s: no space left on device; the recording continues in %s", at, moved[0]); len(warned) != 1 || warned[0] != want {
				t.Errorf("warned %q, want %q", warned, want)
			}
			if _, err := NewWriter(w.cfg); !errors.Is(err, ErrBusy) {
				t.Errorf("a second run: %v, want %v", err, ErrBusy)
			}
			if killed {
				_ = w.queue.Close()
				<-w.queue.synced
				_ = w.file.Close() // and with it the lock
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
	w.queue.dst = &fullDisk{w.file, 200}
	err = w.BeginExperiment(export.ModeConcurrency, "1")
	for range 1000 {
		err = errors.Join(err, w.WriteRequest(&export.Request{StartNS: 1, Inputs: export.Fields{}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}), w.Flush())
		if err != nil {
			break
		}
		for w.queue.State().waiting > 0 { // until it is in the file, or lost
			runtime.Gosched()
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

// The requests that a full disk did not take are in memory, and the exports have them. If no export can be written, the
// journal keeps what the disk took, and the error and the journal count the others.
func TestFullDiskKeepsMemory(t *testing.T) {
	const n = 20
	for _, room := range []int{0, 50, 150, 200, 300, 500, 700} {
		for _, writable := range []bool{true, false} {
			t.Run(fmt.Sprintf("room %d, writable %v", room, writable), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "run.json")
				e, err := NewExport(path, false)
				if err != nil {
					t.Fatal(err)
				}
				w, err := NewWriter(Config{Exports: []*Export{e}, SpillDir: filepath.Join(dir, "none")})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
					t.Fatal(err)
				}
				slow := slowFullDisk{&fullDisk{w.file, room}, make(chan struct{})}
				w.queue.dst = slow
				create := e.create
				if !writable {
					e.create = func(io.Writer, export.Deriver) (export.Writer, error) { return nil, syscall.ENOSPC }
				}
				err = w.BeginExperiment(export.ModeConcurrency, "1")
				for i := range n {
					err = errors.Join(err, w.WriteRequest(&export.Request{ID: uint64(i), StartNS: 1, Inputs: export.Fields{}, Responses: []export.Response{{RecvNS: 2}}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}))
					if i%5 == 4 {
						err = errors.Join(err, w.Flush())
					}
				}
				if err := errors.Join(err, w.EndExperiment(&export.Experiment{})); err != nil {
					t.Fatal(err)
				}
				close(slow.writes)
				err = w.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema, EndNS: 9}})
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("Close: %v; want a full disk", err)
				}
				if writable {
					if !strings.Contains(err.Error(), fmt.Sprintf("; requests kept: %d, in %s", n, path)) {
						t.Errorf("Close: %v, want %d requests kept", err, n)
					}
					run, requests := exporttest.Read(t, path)
					if len(requests) != n || run.Meta.EndNS != 9 || len(run.Meta.Warnings) != 1 || !strings.Contains(run.Meta.Warnings[0], "no space left on device") {
						t.Errorf("%d requests, %+v; want all %d, and why the run ended", len(requests), run.Meta, n)
					}
					if left := glob(t, dir); len(left) != 1 {
						t.Errorf("left: %q, want the export alone", left)
					}
					return
				}
				kept, ok := errors.AsType[*KeptError](err)
				if !ok {
					if !strings.Contains(err.Error(), fmt.Sprintf("requests lost: %d; no request could be kept", n)) || len(glob(t, dir)) > 0 {
						t.Errorf("Close: %v, left %q; want the loss of %d", err, glob(t, dir), n)
					}
					return
				}
				lost := n - kept.Requests
				if kept.Requests == 0 || lost == 0 || !strings.Contains(err.Error(), fmt.Sprintf("requests lost: %d", lost)) {
					t.Errorf("Close: %v, want %d requests lost", err, lost)
				}
				e.create = create
				<-w.queue.synced // and with it the last use of the file, which holds the lock
				rec, err := Recover(t.Context(), PathFor(path), []*Export{e})
				if err != nil || rec.Requests != kept.Requests || rec.Killed {
					t.Fatalf("Recover = %+v, %v; want %d requests", rec, err, kept.Requests)
				}
				run, _ := exporttest.Read(t, path)
				if want := fmt.Sprintf("requests lost: %d, because", lost); len(run.Meta.Warnings) != 2 || !strings.Contains(run.Meta.Warnings[1], want) {
					t.Errorf("the export warns %q, want %q", run.Meta.Warnings, want)
				}
			})
		}
	}
}

// A run with the export of a killed run whose journal moved is refused, unless nothing is
// lost by it or it may overwrite: then journal and link are replaced.
func TestLinkOfMovedJournal(t *testing.T) {
	for _, tt := range []struct {
		name      string
		target    string // name of the file behind the link
		content   string
		exists    bool
		overwrite bool
		want      error
	}{
		{"with content", "run-1" + Suffix, "x", true, false, ErrLeftover},
		{"with content, to be overwritten", "run-1" + Suffix, "x", true, true, nil},
		{"empty", "run-1" + Suffix, "", true, false, nil},
		{"gone", "run-1" + Suffix, "", false, false, nil},
		{"gone, to be overwritten", "run-1" + Suffix, "", false, true, nil},
		{"the journal of another export", "other-1" + Suffix, "x", true, true, ErrNotRegular},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.json")
			target := filepath.Join(t.TempDir(), tt.target)
			if tt.exists {
				if err := os.WriteFile(target, []byte(tt.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(target, PathFor(path)); err != nil {
				t.Fatal(err)
			}
			e, err := NewExport(path, false)
			if err != nil {
				t.Fatal(err)
			}
			w, err := NewWriter(Config{Exports: []*Export{e}, Overwrite: tt.overwrite})
			if err == nil {
				err = w.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}})
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			content, terr := os.ReadFile(target)
			if tt.want != nil {
				if string(content) != tt.content || terr != nil {
					t.Errorf("the file behind the link is %q, %v", content, terr)
				}
				return
			}
			defer w.Discard()
			if st, err := os.Lstat(PathFor(path)); terr == nil || err != nil || !st.Mode().IsRegular() {
				t.Errorf("the file behind the link: %v; the journal: %v, %v; want a file in the place of both", terr, st, err)
			}
		})
	}
}

// The journal of an export that is a pipe or a device is in the second folder, and only its
// owner may read it, whoever made the file.
func TestJournalIsPrivate(t *testing.T) {
	spill := t.TempDir()
	e, err := NewExport(os.DevNull, false)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(Config{Exports: []*Export{e}, SpillDir: spill})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(w.Path()) != spill {
		t.Fatalf("the journal is %s, want it in %s", w.Path(), spill)
	}
	if err := errors.Join(os.WriteFile(w.Path(), nil, 0o666), os.Chmod(w.Path(), 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := w.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if st, err := os.Stat(w.Path()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the journal: %v, %v; want 0600", st.Mode(), err)
	}
}

// A removed journal that cannot move at once is warned about, because a kill would lose it,
// and written again at the end. If that fails, too, the error says why nothing works.
func TestRemovedJournalCannotMove(t *testing.T) {
	for _, folderIsFile := range []bool{false, true} {
		t.Run(fmt.Sprintf("folder is a file %v", folderIsFile), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "artifacts")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path, spill := filepath.Join(dir, "run.json"), filepath.Join(dir, "none")
			e, err := NewExport(path, false)
			if err != nil {
				t.Fatal(err)
			}
			var warned []string
			w, err := NewWriter(Config{Exports: []*Export{e}, SpillDir: spill, Warn: func(text string) { warned = append(warned, text) }})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
				t.Fatal(err)
			}
			at := w.Path()
			write := func() error {
				err := w.WriteRequest(&export.Request{StartNS: 1, Inputs: export.Fields{}, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured})
				for err = errors.Join(err, w.Flush()); err == nil && w.queue.State().waiting > 0; {
					err = w.queue.State().err
				}
				return err
			}
			err = errors.Join(w.BeginExperiment(export.ModeConcurrency, "1"), write(), os.RemoveAll(dir))
			if folderIsFile {
				err = errors.Join(err, os.WriteFile(dir, nil, 0o600))
			}
			if err := errors.Join(err, write(), write(), w.EndExperiment(&export.Experiment{})); err != nil {
				t.Fatal(err)
			}
			if want := "journal " + at + ": it was removed or renamed during the run; it cannot be moved to " + spill + ": "; len(warned) != 1 || !strings.HasPrefix(warned[0], want) || !strings.HasSuffix(warned[0], "; the run continues and tries again at its end") {
				t.Errorf("warned %q, want %q once", warned, want)
			}
			err = w.Close(&export.Run{Meta: &export.RunMeta{Schema: export.Schema, EndNS: 9}})
			if folderIsFile {
				if !errors.Is(err, syscall.ENOTDIR) || strings.Count(err.Error(), "it cannot be moved to ") != 2 || !strings.HasSuffix(err.Error(), "requests lost: 3") {
					t.Errorf("Close: %v, want why the journal can move to neither folder, and the loss", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, requests := exporttest.Read(t, path); len(requests) != 3 {
				t.Errorf("%d requests, want 3", len(requests))
			}
			if left := glob(t, dir); len(left) != 1 {
				t.Errorf("left: %q, want the export alone", left)
			}
		})
	}
}
