//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// A run keeps its requests when another program removes or replaces its journal. It
// ends when another program cuts the journal.
func TestJournalMeddledWith(t *testing.T) {
	for _, tt := range []struct {
		name   string
		meddle func(dir, journal string) error
		kept   int // requests in the export; < 0: there is none
		warn   string
		err    string
	}{
		{"folder removed", func(dir, _ string) error { return os.RemoveAll(dir) }, 4, "was removed or renamed during the run", ""},
		{"journal removed", func(_, j string) error { return os.Remove(j) }, 4, "was removed or renamed", ""},
		{"journal replaced", func(_, j string) error {
			return errors.Join(os.Remove(j), os.WriteFile(j, []byte("another's"), 0o600))
		}, 4, "was removed or renamed", ""},
		{"journal emptied", func(_, j string) error { return os.Truncate(j, 0) }, -1, "", "another program cut it to 0 bytes while it was being written; no request could be kept"},
		{"journal cut", func(_, j string) error {
			st, err := os.Stat(j)
			return errors.Join(err, os.Truncate(j, st.Size()-1))
		}, 1, "", "another program cut it to "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
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
			r, err := NewWriter(Config{Exports: []*Export{e}, Warn: func(text string) { warned = append(warned, text) }})
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
			if tt.warn == "" && len(warned) > 0 || tt.warn != "" && (len(warned) != 1 || !strings.Contains(warned[0], tt.warn)) {
				t.Errorf("warned %q, want %q once", warned, tt.warn)
			}
			if tt.kept < 0 {
				return
			}
			if _, requests := exporttest.Read(t, path); len(requests) != tt.kept {
				t.Errorf("%d requests, want %d", len(requests), tt.kept)
			}
		})
	}
}
