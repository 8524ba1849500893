//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/sim"
)

// startRecord starts pa-record in a process of its own, without an end of its
// own for longer than a test takes.
func startRecord(t *testing.T, srv simProcess, exports ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	args := []string{"--service-kind", "openai", "-u", srv.openAI, "--streaming", "--concurrency-range", "4", "--duration", "1h"}
	for _, e := range exports {
		args = append(args, "--profile-export-file", e)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &stderr
}

// waitForRequests returns when the server has answered n requests.
func (p simProcess) waitForRequests(t *testing.T, n int) {
	t.Helper()
	// All requests before since have ended, doneBefore of them with EndOK. No poll asks for them
	// twice.
	since, doneBefore := uint64(0), 0
	done := 0
	if !eventually(func() bool {
		done = doneBefore
		allEnded := true
		for _, e := range p.askLedger(t, fmt.Sprintf("?since=%d", since)) {
			allEnded = allEnded && e.End != sim.EndRunning
			if allEnded {
				since = e.Index + 1
			}
			if e.End == sim.EndOK {
				done++
				if allEnded {
					doneBefore++
				}
			}
		}
		return done >= n
	}) {
		t.Fatalf("the server answered %d requests within a minute, want %d", done, n)
	}
}

// eventually asks again and again, for a minute, whether something holds that
// another process does: nobody can say when.
func eventually(holds func() bool) bool {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case <-again.C:
		case <-late:
			return false
		}
	}
	return true
}

// A run that is killed keeps every request that ended more than a second
// before, with every byte: compared with what the server says it sent.
func TestKill(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "5ms", "--itl", "6ms", "--output-tokens", "normal:8,2")
	path := filepath.Join(t.TempDir(), "x.json")
	cmd, stderr := startRecord(t, srv, path)
	srv.waitForRequests(t, 150)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := uint64(time.Now().UnixNano())
	_ = cmd.Wait() // says that it was killed
	if _, err := os.Stat(path); err == nil {
		t.Fatalf("the export is there though the run was killed: %s", stderr)
	}
	journal := exportStem(path) + journal.Suffix
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(t.Context(), journal)
	if err != nil {
		t.Fatalf("the journal cannot be read as it is: %v", err)
	}
	_ = r.Close()

	code, stdout, errs := inProcess(t.Context(), t, "recover", journal)
	if code != 0 || !strings.Contains(stdout, "(the run was killed); wrote "+path) {
		t.Fatalf("recover: exit code %d: %s%s", code, stdout, errs)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal is there after it was recovered")
	}
	run, requests := exporttest.Read(t, path)
	if run.Meta == nil || run.Meta.Interrupted != "killed" || run.Meta.Model != "sim" || len(run.Meta.DatasetSHA256) != 64 {
		t.Errorf("meta %+v, want a killed run of model sim with a dataset hash", run.Meta)
	}
	recorded := map[string]*export.Request{}
	for i := range requests {
		if id, ok := exporttest.AnswerID(&requests[i]); ok {
			recorded[id] = &requests[i]
		}
	}
	kept := 0
	for _, e := range srv.ledger(t) {
		if e.End != sim.EndOK || e.EndedNS+uint64(time.Second) > killed {
			continue
		}
		q := recorded[e.ID]
		switch {
		case q == nil:
			t.Errorf("%s ended %v before the kill and is lost", e.ID, time.Duration(killed-e.EndedNS))
		case exporttest.Joined(q, "response") != string(e.Sent()):
			t.Errorf("%s: recorded %q, sent %q", e.ID, exporttest.Joined(q, "response"), e.Sent())
		default:
			kept++
		}
	}
	if kept < 50 {
		t.Errorf("%d requests compared, want 50 or more", kept)
	}
}

// A run that is interrupted keeps all requests, in all formats, and says how it ended. make test
// writes all formats for one signal.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			srv := startSim(t, "--ttft", "5ms", "--itl", "2ms", "--output-tokens", "10")
			dir := t.TempDir()
			var paths []string
			names := []string{"x.json", "x.parquet", "x.arrow"}
			if tt.signal != syscall.SIGINT && !testenv.IsLong() {
				names = names[:1] // no format depends on the signal
			}
			for _, name := range names {
				paths = append(paths, filepath.Join(dir, name))
			}
			cmd, stderr := startRecord(t, srv, paths...)
			srv.waitForRequests(t, 40)
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its error is the exit code
			if got := cmd.ProcessState.ExitCode(); got != tt.code {
				t.Fatalf("exit code %d, want %d: %s", got, tt.code, stderr)
			}
			want := 0
			for _, e := range srv.ledger(t) {
				if e.End == sim.EndOK {
					want++
				}
			}
			for _, p := range paths {
				run, requests := exporttest.Read(t, p)
				if len(requests) != want || run.Meta.Interrupted == "" {
					t.Errorf("%s: %d requests, interrupted by %q; the server answered %d", filepath.Base(p), len(requests), run.Meta.Interrupted, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != len(paths) {
				t.Errorf("files %q, want the exports alone", left)
			}
		})
	}
}
