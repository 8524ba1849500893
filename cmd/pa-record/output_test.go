package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

func TestOutputsRefuse(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	there := file("there.json")
	file("killed" + journal.Suffix)
	for _, tt := range []struct {
		name, path string
		overwrite  bool
		want       string // "" for no error
	}{
		{"new", filepath.Join(dir, "new.json"), false, ""},
		{"there", there, false, "is there already; give --overwrite"},
		{"there, to be replaced", there, true, ""},
		{"left by a killed run", filepath.Join(dir, "killed.json"), false, "finish it with pa-record recover"},
		{"left by a killed run, another format", filepath.Join(dir, "killed.parquet"), false, "finish it with pa-record recover"},
		{"left by a killed run, to be replaced", filepath.Join(dir, "killed.json"), true, ""},
		{"folder", dir, false, "is a directory"},
		{"no folder", filepath.Join(dir, "no", "x.json"), false, "does not exist"},
		{"standard output", "-", false, "standard output is for the console report"},
		{"nothing", "", false, "the name is empty"},
		{"device", os.DevNull, false, ""},
		{"no format", filepath.Join(dir, "x.txt"), false, "x.txt: .txt is not an export format; use .json, .json.gz, .json.zst, .parquet or .arrow"},
		{"no format, to be replaced", file("there.csv"), true, ".csv is not an export format"},
		{"packed, but what?", filepath.Join(dir, "x.gz"), false, ".gz is not an export format"},
		{"another letter case", filepath.Join(dir, "x.JSON"), false, ""},
		{"no suffix: JSON, as perf_analyzer", filepath.Join(dir, "export"), false, ""},
		{"a version is no suffix", filepath.Join(dir, "llama-3.1"), false, ""},
		{"a version with more is none", filepath.Join(dir, "llama-3.b-1"), false, ""},
		{"edge: a dot at the end", filepath.Join(dir, "x."), false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newTestRecording(tt.path, tt.overwrite)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%q, overwrite %v: %v, want %q", tt.path, tt.overwrite, err, tt.want)
			}
		})
	}
}

func newTestRecording(path string, overwrite bool) (*recording, error) {
	exports, err := newExports([]string{path}, overwrite)
	if err != nil {
		return nil, err
	}
	return newRecording(exports, &settings{overwrite: overwrite})
}

// Two runs with one path: the second is refused, and the message names the flag.
func TestTwoRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	first, err := newTestRecording(path, false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := newTestRecording(path, false)
	if err != nil {
		t.Fatal(err)
	}
	header := &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
	if err := first.open(t.Context(), header); err != nil {
		t.Fatal(err)
	}
	var usage *cmdline.UsageError
	err = second.open(t.Context(), header)
	if want := first.Path() + ": another pa-record is writing it; give another --profile-export-file"; runtime.GOOS != "windows" && (!errors.As(err, &usage) || err.Error() != want) {
		t.Errorf("%v, want the refusal %q", err, want)
	}
	first.discard()
	for name, want := range map[string]string{
		first.Path(): first.Path() + " was left by a run that was killed; finish it with pa-record recover " + first.Path() + ", or give --overwrite",
		path:         path + " exists by now; give --overwrite or another --profile-export-file",
	} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := second.open(t.Context(), header); !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("%v, want the refusal %q", err, want)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// The message about a journal that stays is one line, and names what finishes it.
func TestJournalKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"stopped", errSecondSignal, "a second signal stopped the writing of the export; requests kept: 3, in x: pa-record recover x"},
		{"full", fmt.Errorf("y: %w", syscall.ENOSPC), "y: no space left on device; requests kept: 3, in x: free space there, then run pa-record recover x"},
		{"two errors", errors.Join(errors.New("a"), syscall.EMFILE), "a; too many open files; requests kept: 3, in x: raise the limit on open files (ulimit -n), then run pa-record recover x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := journalKept(&journal.KeptError{Path: "x", Requests: 3, Err: tt.err}, nil)
			if err.Error() != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, want %q", err, tt.want)
			}
		})
	}
	if err := journalKept(errSecondSignal, nil); err != errSecondSignal { //nolint:errorlint // the same, not wrapped
		t.Errorf("%v, want the error as it was", err)
	}
}
