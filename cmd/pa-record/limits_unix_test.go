//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
)

// The runtime has raised the limit as far as it may go; so what is left to say
// is what only the user can change.
func TestFileLimit(t *testing.T) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if n, ok := fileLimit(); !ok || n != uint64(l.Cur) || runtime.GOOS == "linux" && l.Cur != l.Max { //nolint:unconvert // it is signed on FreeBSD
		t.Errorf("limit %d, %v; the system has %d of %d", n, ok, l.Cur, l.Max)
	}
}

// A load that cannot have its files is warned of on standard error and in the
// export, and runs all the same.
func TestTooFewFiles(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	file := filepath.Join(t.TempDir(), "e.json")
	cmd := exec.Command("sh", "-c", `ulimit -n 64 && exec "$0" "$@"`, os.Args[0],
		"--service-kind", "openai", "-u", srv.openAI, "--concurrency-range", "40", "--request-count", "40", "--profile-export-file", file, "--quiet")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = "40 connections need 72 open files in all, but the limit is 64; raise it first: ulimit -n 72"
	if !strings.Contains(string(out), "pa-record: warning: "+want+"\n") {
		t.Errorf("got\n%swant %s", out, want)
	}
	run, requests := exporttest.Read(t, file)
	if len(run.Meta.Warnings) == 0 || run.Meta.Warnings[0] != want || len(requests) != 40 {
		t.Errorf("%d requests, warnings %q; want 40, %q", len(requests), run.Meta.Warnings, want)
	}
}
