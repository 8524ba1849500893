//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// A series of three runs with levels 1, 2 and 4 of eight requests each, against
// a server that stops answering at the second level of the second run.
const (
	seriesLevel = 8
	seriesGood  = 4*seriesLevel + 3
)

// startSeries starts a series of runs in another process and returns when hung requests
// hang: when every slot of the level hangs, nothing more happens.
func startSeries(t *testing.T, paths []string, hung int, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	srv := startHanging(t, seriesGood, false)
	args = append(args, "--concurrency-range", "1,2,4", "--request-count", fmt.Sprint(seriesLevel), "--repeat", "3", "--grace-period", "0s")
	cmd := exec.Command(os.Args[0], recordArgs(srv, paths, args...)...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range hung {
		<-srv.hanging
	}
	return cmd, &stderr
}

// An interruption in the second run ends it and the series; all that was
// measured of both is kept.
func TestSeriesInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		name   string
		code   int
	}{{syscall.SIGINT, "SIGINT", 130}, {syscall.SIGTERM, "SIGTERM", 143}} {
		t.Run(tt.name, func(t *testing.T) {
			paths := exportPaths(t)
			cmd, stderr := startSeries(t, paths, 2)
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its error is the exit code
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(stderr.String(), "2 of 3 runs recorded") {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, stderr)
			}
			for _, p := range paths {
				first, requests := exporttest.Read(t, numberedPath(p, "1"))
				if len(requests) != 3*seriesLevel || len(first.Experiments) != 3 || first.Meta.Interrupted != "" || first.Meta.Repeat.Index != 1 {
					t.Errorf("%s: the first run has %d requests, interrupted %q, repeat %+v", filepath.Base(p), len(requests), first.Meta.Interrupted, first.Meta.Repeat)
				}
				second, requests := exporttest.Read(t, numberedPath(p, "2"))
				ok := 0
				for i := range requests {
					if requests[i].Status == export.StatusOK {
						ok++
					}
				}
				if want := seriesGood - 3*seriesLevel; ok != want || len(second.Experiments) != 2 || second.Meta.Interrupted != tt.name || second.Meta.Repeat.Index != 2 {
					t.Errorf("%s: the second run has %d good requests, want %d; %d levels, interrupted %q, repeat %+v", filepath.Base(p), ok, want, len(second.Experiments), second.Meta.Interrupted, second.Meta.Repeat)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(paths[0]), "*")); len(left) != 2*len(paths) {
				t.Errorf("files %q, want the exports of two runs alone", left)
			}
		})
	}
}

// journalOf waits until a journal holds n requests, and returns its run.
func journalOf(t *testing.T, path string, n int) *export.Run {
	t.Helper()
	o := export.Opener{Formats: formats.Readers()}
	had := -1
	var run *export.Run
	if !eventually(func() bool {
		r, err := o.Open(t.Context(), path)
		if err != nil {
			return false // it may not have begun
		}
		had, run = 0, r.Run()
		for r.Next() {
			had++
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return had == n
	}) {
		t.Fatalf("%s holds %d requests after a minute, want %d", path, had, n)
	}
	return run
}

// A series that is killed in the second run has the export of the first and the
// journal of the second, from which an export is made: with the levels in their
// order, though they were measured in another.
func TestSeriesKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	cmd, _ := startSeries(t, []string{path}, 1, "--interleave", "--random-seed", "3")
	journal := exportStem(numberedPath(path, "2")) + journal.Suffix
	const kept = seriesGood - 3*seriesLevel
	asItIs := journalOf(t, journal, kept)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if want := []string{numberedPath(path, "1"), journal}; !slices.Equal(left, want) {
		t.Fatalf("files %q, want %q", left, want)
	}
	code, stdout, stderr := inProcess(t.Context(), t, "recover", journal)
	if code != 0 || !strings.Contains(stdout, "(the run was killed); wrote "+numberedPath(path, "2")) {
		t.Fatalf("recover: exit code %d: %s%s", code, stdout, stderr)
	}
	first, _ := exporttest.Read(t, numberedPath(path, "1"))
	second, requests := exporttest.Read(t, numberedPath(path, "2"))
	if len(requests) != kept || second.Meta.Interrupted != "killed" {
		t.Errorf("%d requests recovered, interrupted %q; want %d, killed", len(requests), second.Meta.Interrupted, kept)
	}
	r := second.Meta.Repeat
	if r == nil || r.Index != 2 || r.Of != 3 || r.Group != first.Meta.Repeat.Group || len(r.Order) != 3 {
		t.Fatalf("repeat %+v, want the second of three, of the group of the first, %+v", r, first.Meta.Repeat)
	}
	levels := []string{"1", "2", "4"}
	want := []string{levels[min(r.Order[0], r.Order[1])], levels[max(r.Order[0], r.Order[1])]}
	for _, run := range []*export.Run{asItIs, second} {
		var got []string
		for _, e := range run.Experiments {
			got = append(got, e.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("levels %q, want %q, measured in the order %v", got, want, r.Order)
		}
	}
	// Requests are matched to levels by number: the first eight are of the level that was measured
	// first.
	counts := map[string]int{}
	for i := range requests {
		level := levels[r.Order[0]]
		if requests[i].ID > seriesLevel {
			level = levels[r.Order[1]]
		}
		counts[level]++
	}
	for _, e := range second.Experiments {
		if n := counts[e.Value]; n == 0 {
			t.Errorf("level %s: no requests", e.Value)
		}
	}
	if n := counts[levels[r.Order[0]]]; n != seriesLevel || second.Experiments[slices.Index(want, levels[r.Order[0]])].Meta.Measured != n {
		t.Errorf("the level that was measured first has %d requests, want %d; experiments %+v", n, seriesLevel, second.Experiments)
	}
}

// A series against two servers that is killed in the run against the second one has the
// export of the first and the journal of the second, from which an export is made.
func TestServersKill(t *testing.T) {
	t.Parallel()
	const good, kept = 6, 2 // requests that are answered, in both runs and in the second
	old, srv := startTurning(t, func(int64) bool { return false }, func(int64) {}), startHanging(t, kept, false)
	path := filepath.Join(t.TempDir(), "x.json")
	cmd := exec.Command(os.Args[0], "--service-kind", "openai", "--streaming", "-m", "m", "-u", "old="+old, "-u", "new="+srv.url,
		"--request-count", fmt.Sprint(good-kept), "--repeat", "2", "--interleave", "--profile-export-file", path)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-srv.hanging
	first, second := numberedPath(path, "old.1"), numberedPath(path, "new.1")
	journal := exportStem(second) + journal.Suffix
	journalOf(t, journal, kept)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if want := []string{journal, first}; !slices.Equal(left, want) {
		t.Fatalf("files %q, want %q", left, want)
	}
	code, stdout, stderr := inProcess(t.Context(), t, "recover", journal)
	if code != 0 || !strings.Contains(stdout, "(the run was killed); wrote "+second) {
		t.Fatalf("recover: exit code %d: %s%s", code, stdout, stderr)
	}
	before, _ := exporttest.Read(t, first)
	run, requests := exporttest.Read(t, second)
	want := export.RepeatMeta{Label: "new", Index: 1, Of: 2, Group: before.Meta.Repeat.Group}
	if got := run.Meta.Repeat; len(requests) != kept || run.Meta.Interrupted != "killed" || got == nil || got.Label != want.Label || got.Index != want.Index || got.Of != want.Of || got.Group != want.Group {
		t.Errorf("%d requests recovered, interrupted %q, repeat %+v; want %d, killed, %+v", len(requests), run.Meta.Interrupted, got, kept, want)
	}
}

// An interruption in the run against the second server ends all runs.
func TestServersInterrupt(t *testing.T) {
	old, srv := startTurning(t, func(int64) bool { return false }, func(int64) {}), startHanging(t, 2, false)
	path := filepath.Join(t.TempDir(), "x.json")
	cmd := exec.Command(os.Args[0], "--service-kind", "openai", "--streaming", "-m", "m", "-u", "old="+old, "-u", "new="+srv.url,
		"--request-count", "4", "--repeat", "2", "--interleave", "--grace-period", "0s", "--profile-export-file", path)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-srv.hanging
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error is the exit code
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(stderr.String(), "pa-record: new, run 1 of 2: wrote ") || !strings.Contains(stderr.String(), "2 of 4 runs recorded") {
		t.Errorf("exit code %d, want 130: %s", code, &stderr)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if want := []string{numberedPath(path, "new.1"), numberedPath(path, "old.1")}; !slices.Equal(left, want) {
		t.Errorf("files %q, want %q", left, want)
	}
}

// A run that fails before it has begun leaves no journal, and no lock on one.
func TestSeriesFailsEarly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	s, err := parse(t, "", "-u", "sim://", "-m", "m", "--service-kind", "openai", "--profile-export-file", path)
	if err != nil {
		t.Fatal(err)
	}
	runs := s.plannedRuns()
	if err := checkFiles(runs, &settings{}); err != nil {
		t.Fatal(err)
	}
	s.Search = "not a range" // the console report cannot show that
	m := &repeatedRun{s: s, env: newEnvironment(noEnv, nil), args: []string{"pa-record"}, stdout: io.Discard, stderr: io.Discard, targets: []target{{s: s, urls: []string{"127.0.0.1:1"}}}, runs: runs, interrupted: &interruption{}, entries: &inputData{}}
	if err := m.run(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "not a range") {
		t.Fatalf("error %v, want one about the range", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}
