package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
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
	file("killed" + journalSuffix)
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
		{"no format", filepath.Join(dir, "x.txt"), false, "x.txt: .txt is no format of an export; use .json, .json.gz, .json.zst, .parquet or .arrow"},
		{"no format, to be replaced", file("there.csv"), true, ".csv is no format of an export"},
		{"packed, but what?", filepath.Join(dir, "x.gz"), false, ".gz is no format of an export"},
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
	outputs, err := newOutputs([]string{path}, overwrite)
	if err != nil {
		return nil, err
	}
	return newRecording(outputs, overwrite)
}

// Two runs with one path: the second is refused, with and without --overwrite,
// and the first one's file is whole.
func TestTwoRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	first, err := newTestRecording(path, false)
	if err != nil {
		t.Fatal(err)
	}
	openRecording(t, first)
	if runtime.GOOS != "windows" { // there the removal fails instead
		for _, overwrite := range []bool{false, true} {
			if _, err := newTestRecording(path, overwrite); err == nil || !strings.Contains(err.Error(), "another pa-record is writing it") {
				t.Errorf("overwrite %v: %v, want a refusal", overwrite, err)
			}
		}
	}
	recordOne(t, first)
	if _, requests := readExport(t, path); len(requests) != 1 {
		t.Errorf("%d requests, want 1", len(requests))
	}
	if len(first.written) != 1 || first.written[0] != path {
		t.Errorf("written %q, want %q", first.written, path)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files %q, want the export alone", left)
	}
}

// A device is written in place and stays one.
func TestDevice(t *testing.T) {
	r, err := newTestRecording(os.DevNull, true)
	if err != nil {
		t.Fatal(err)
	}
	openRecording(t, r)
	recordOne(t, r)
	st, err := os.Stat(os.DevNull)
	if err != nil || st.Mode().IsRegular() {
		t.Fatalf("%s: %v, %v", os.DevNull, st, err)
	}
	if _, err := os.Stat(os.DevNull + partialSuffix); err == nil {
		t.Errorf("%s%s is there", os.DevNull, partialSuffix)
	}
}

// An export that cannot be written leaves the journal, which recover takes.
func TestExportFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	r, err := newTestRecording(path, false)
	if err != nil {
		t.Fatal(err)
	}
	openRecording(t, r)
	if err := os.Mkdir(path+partialSuffix, 0o700); err != nil { // in the way
		t.Fatal(err)
	}
	err = recordOneErr(r)
	if err == nil || !strings.Contains(err.Error(), "pa-record recover "+r.path) || len(r.written) != 0 {
		t.Fatalf("%v, written %q; want an error that names the journal", err, r.written)
	}
	if err := os.Remove(path + partialSuffix); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := inProcess(t.Context(), t, "recover", r.path)
	if code != 0 || !strings.Contains(stdout, "requests recovered: 1 (the run had ended); wrote "+path) {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, requests := readExport(t, path); len(requests) != 1 {
		t.Errorf("%d requests, want 1", len(requests))
	}
}

func openRecording(t *testing.T, r *recording) {
	t.Helper()
	if err := r.open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		t.Fatal(err)
	}
}

func recordOne(t *testing.T, r *recording) {
	t.Helper()
	if err := recordOneErr(r); err != nil {
		t.Fatal(err)
	}
}

func recordOneErr(r *recording) error {
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
