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
	killed := filepath.Join(dir, "killed.json")
	file("killed.json.partial")
	for _, tt := range []struct {
		name, path string
		overwrite  bool
		want       string // "" for no error
	}{
		{"new", filepath.Join(dir, "new.json"), false, ""},
		{"there", there, false, "is there already; give --overwrite"},
		{"there, to be replaced", there, true, ""},
		{"left by a killed run", killed, false, "a run that was killed left it"},
		{"left by a killed run, to be replaced", killed, true, ""},
		{"folder", dir, false, "is a directory"},
		{"no folder", filepath.Join(dir, "no", "x.json"), false, "does not exist"},
		{"standard output", "-", false, "standard output is for the console report"},
		{"nothing", "", false, "the name is empty"},
		{"parquet", "x.parquet", false, "is not supported"},
		{"device", os.DevNull, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newOutputs([]string{tt.path}, tt.overwrite)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("newOutputs(%q, %v) = %v, want %q", tt.path, tt.overwrite, err, tt.want)
			}
		})
	}
}

// Two runs with one path: the second is refused, with and without --overwrite,
// and the first one's file is whole.
func TestOutputsTwoRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	first, err := newOutputs([]string{path}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.open(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" { // there the removal fails instead
		for _, overwrite := range []bool{false, true} {
			if _, err := newOutputs([]string{path}, overwrite); err == nil || !strings.Contains(err.Error(), "another pa-record is writing it") {
				t.Errorf("overwrite %v: %v, want a refusal", overwrite, err)
			}
		}
	}
	writeOne(t, first)
	if _, requests := readExport(t, path); len(requests) != 1 {
		t.Errorf("%d requests, want 1", len(requests))
	}
	if got := first.written(); len(got) != 1 || got[0] != path {
		t.Errorf("written %q, want %q", got, path)
	}
}

// A device is written in place and stays one.
func TestOutputsDevice(t *testing.T) {
	o, err := newOutputs([]string{os.DevNull}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.open(); err != nil {
		t.Fatal(err)
	}
	writeOne(t, o)
	st, err := os.Stat(os.DevNull)
	if err != nil || st.Mode().IsRegular() {
		t.Fatalf("%s: %v, %v", os.DevNull, st, err)
	}
	if _, err := os.Stat(os.DevNull + partialSuffix); err == nil {
		t.Errorf("%s%s is there", os.DevNull, partialSuffix)
	}
}

func writeOne(t *testing.T, o outputs) {
	t.Helper()
	for _, err := range []error{
		o.BeginExperiment(export.ModeConcurrency, "1"),
		o.WriteRequest(&export.Request{StartNS: 1, Inputs: export.Fields{}, Status: export.StatusOK, Phase: export.PhaseMeasured}),
		o.Flush(), o.EndExperiment(&export.Experiment{}), o.Close(&export.Run{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
