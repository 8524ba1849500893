package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// Warm-up runs send the load of a run, and are in no export. Recorded runs send the same prompts with
// and without them if the prompts are made up, and later ones otherwise.
func TestWarmupRuns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, input string }{
		{"made up", "--synthetic-input-tokens-mean 8"},
		{"built in", ""},
		{"of a file", "--input-data " + filepath.Join(promptFiles(t, 100), "lines.txt")},
	} {
		var sent [2][]string
		for i, warmups := range []int{0, 2} {
			var posts atomic.Int64
			url := startTurning(t, func(int64) bool { return false }, func(int64) { posts.Add(1) })
			dir := t.TempDir()
			code, _, stderr := inProcess(t.Context(), t, append([]string{
				"--service-kind", "openai", "-u", url, "-m", "m", "--streaming", "--request-count", "5", "--concurrency-range", "1,2", "--repeat", "2",
				"--warmup-runs", fmt.Sprint(warmups), "--profile-export-file", filepath.Join(dir, "x.json"),
			}, strings.Fields(tt.input)...)...)
			if code != 0 || strings.Count(stderr, ": 10 requests, in no export\n") != warmups {
				t.Errorf("%s, %d warm-up runs: exit code %d: %s", tt.name, warmups, code, stderr)
			}
			if want := int64(10 * (2 + warmups)); posts.Load() != want {
				t.Errorf("%s, %d warm-up runs: %d requests, want %d", tt.name, warmups, posts.Load(), want)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
				t.Errorf("%s, %d warm-up runs: files %q", tt.name, warmups, files)
			}
			for n := range 2 {
				run, requests := exporttest.Read(t, filepath.Join(dir, fmt.Sprintf("x.%d.json", n+1)))
				if r := run.Meta.Repeat; r == nil || r.Index != n+1 || r.Of != 2 || len(requests) != 10 {
					t.Errorf("%s, %d warm-up runs: run %d is %+v of %d requests", tt.name, warmups, n+1, r, len(requests))
				}
				if p := run.Experiments[0].Meta.Prompts; n == 0 && tt.name == "of a file" && p.First != 10*warmups {
					t.Errorf("%s, %d warm-up runs: the first recorded run begins at prompt %d", tt.name, warmups, p.First)
				}
				sent[i] = append(sent[i], run.Meta.DatasetSHA256)
				slices.SortFunc(requests, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
				for _, q := range requests {
					payload, _ := q.Inputs.Get("payload")
					sent[i] = append(sent[i], string(payload.Data))
				}
			}
		}
		if d := cmp.Diff(sent[0], sent[1]); (d != "") != (tt.name == "of a file") {
			t.Errorf("%s: with warm-up runs the recorded runs send (-without +with):\n%s", tt.name, d)
		}
	}
}

// A warm-up run in which many requests fail is named, and the recorded runs follow; one in which the
// first requests fail ends the series.
func TestWarmupRunFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		bad   func(n int64) bool
		args  string
		code  int
		files int
		said  string
	}{
		{"every second request", func(n int64) bool { return n <= 20 && n%2 == 0 }, "--max-error-rate 10%", 0, 2, "pa-record: warning: warm-up run 1 of 1: concurrency 1: 10 of 20 requests failed"},
		{"all", func(int64) bool { return true }, "", 1, 0, "pa-record: warm-up run 1 of 1: all of the first 5 requests failed: http_error 500"},
	} {
		url := startTurning(t, tt.bad, func(int64) {})
		dir := t.TempDir()
		code, _, stderr := inProcess(t.Context(), t, append([]string{
			"--service-kind", "openai", "-u", url, "-m", "m", "--streaming", "--request-count", "30", "--repeat", "2",
			"--warmup-runs", "1", "--profile-export-file", filepath.Join(dir, "x.json"),
		}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.said) {
			t.Errorf("%s: exit code %d, want %d and %q: %s", tt.name, code, tt.code, tt.said, stderr)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != tt.files {
			t.Errorf("%s: files %q, want %d", tt.name, files, tt.files)
		}
	}
}
