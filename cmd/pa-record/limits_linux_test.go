package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// checkPartly checks an export of a run in which some requests got no connection,
// for the reason that the message begins with, and the others went on.
func checkPartly(t *testing.T, r childResult, message string, requests int, paths ...string) {
	t.Helper()
	if r.code != 0 || !strings.Contains(r.stderr, "requests failed; pa-analyze report shows why") {
		t.Fatalf("exit code %d, want 0 and a warning: %s", r.code, r.stderr)
	}
	for _, path := range paths {
		run, all := exporttest.Read(t, path)
		good, bad := wholeRequests(t, path), 0
		for i := range all {
			switch q := &all[i]; q.Status {
			case export.StatusOK:
			case export.StatusConnectError:
				bad++
				if !strings.Contains(q.Message, message) {
					t.Fatalf("request %d: %q, want %q", q.ID, q.Message, message)
				}
			default:
				t.Errorf("request %d: %v %q", q.ID, q.Status, q.Message)
			}
		}
		if good < requests/10 || bad < requests/10 || good+bad != requests {
			t.Errorf("%s: %d good and %d without a connection, want %d, of both many", filepath.Base(path), good, bad, requests)
		}
		if m := run.Experiments[0].Meta; m.Measured != good || m.Failed != bad || run.Meta.EndNS == 0 {
			t.Errorf("%s: the header says %+v", filepath.Base(path), m)
		}
	}
}

// A load for which there are too few file descriptors: requests without one fail,
// the others go on, and there are enough left to write the exports. A slot without a
// connection fails one request after the other while the server answers the first ones. On
// a busy machine a connection may thus carry one request only, so that the connections
// themselves must be many: nearly 30 of 64.
func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	srv := startSim(t, calm...)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "x.json"), filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.arrow")}
	args := []string{"--service-kind", "openai", "-u", srv.openAI, "--streaming", "--concurrency-range", "64", "--request-count", "200"}
	for _, p := range paths {
		args = append(args, "--profile-export-file", p)
	}
	r := runChild(t, []string{fdLimitEnv + "=50"}, 0, args...)
	checkPartly(t, r, "too many open files; raise ulimit -n", 200, paths...)
	run, _ := exporttest.Read(t, paths[0])
	if c := run.Experiments[0].Meta.Client; c == nil || c.FDs == nil || c.FDs.Limit != 50 || c.FDs.Open < 46 {
		t.Errorf("client %+v, want nearly all of 50 descriptors open", c)
	}
	if !strings.Contains(r.stderr, "of 50 file descriptors are open; raise ulimit -n") {
		t.Errorf("nothing about it: %s", r.stderr)
	}
}

// Connections that pa-record opens before the load without being asked fail as rows, too,
// and none of the others with them.
func TestTooManyFilesForPrewarming(t *testing.T) {
	t.Parallel()
	srv := startSim(t, calm...)
	path := filepath.Join(t.TempDir(), "x.json")
	r := runChild(t, []string{fdLimitEnv + "=100"}, 0, "--service-kind", "openai", "-u", srv.openAI, "--streaming", "--concurrency-range", "200", "--request-count", "400", "--profile-export-file", path)
	checkPartly(t, r, "too many open files; raise ulimit -n", 400, path)
	if !strings.Contains(r.stderr, "200 connections are opened before the load") {
		t.Errorf("nothing about it: %s", r.stderr)
	}
}

// A load for which there are too few local ports: more slots than ports, or few
// slots and a connection for each request, whose port rests for a while.
func TestNoPortLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reuse string
		slots       string
		requests    int
	}{
		{"many connections", "reuse", "32", 400},
		{"a connection for each request", "fresh", "2", 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.json")
			r := runChild(t, []string{portsEnv + "=40000 40007"}, syscall.CLONE_NEWNET, "--service-kind", "openai", "-u", inNetworkAddr, "--streaming",
				"--concurrency-range", tt.slots, "--request-count", strconv.Itoa(tt.requests), "--connection-reuse", tt.reuse, "--profile-export-file", path)
			checkPartly(t, r, "no local port left", tt.requests, path)
		})
	}
}
