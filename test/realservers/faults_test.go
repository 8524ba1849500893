//go:build realservers

package realservers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFaults records a server that misbehaves in one way at a time. Odd
// framing is no failure: every token arrives. A failure is a row with its
// status and the server's message, and the other requests go on.
func TestFaults(t *testing.T) {
	s := startSSED(t)
	const requests, tokens = 12, 8
	for _, c := range []struct {
		script  string
		failed  int    // of the requests
		status  string // of each failed one
		code    int
		message string // part of it
	}{
		{script: ""},
		{script: "merged"},
		{script: "oneshot"},
		{script: "comments"},
		{script: "crlf"},
		{script: "nodone"},
		{script: "tightdone"},
		{script: "fail6", failed: 2, status: "http_error", code: 500, message: "internal error on every 6th request"},
		{script: "error_event", failed: requests, status: "rpc_error", code: 500, message: "out of memory"},
		{script: "reset", failed: requests, status: "truncated", code: 200, message: "EOF"},
		{script: "http429", failed: requests, status: "http_error", code: 429, message: "rate limit reached"},
	} {
		name := c.script
		if name == "" {
			name = "well-behaved"
		}
		t.Run(name, func(t *testing.T) {
			prompts := fmt.Sprintf(`{"data": [{"payload": [{"model": "tiny", "stream": true, "max_tokens": %d, "itl_ms": 2, "script": %q, `+
				`"messages": [{"role": "user", "content": "Hi"}]}]}]}`, tokens, c.script)
			dir, r := record(t, prompts, "-m", "tiny", "--service-kind", "openai", "--endpoint", "v1/chat/completions",
				"--async", "-u", s.HTTP, "--request-count", fmt.Sprint(requests), "--concurrency-range", "2",
				"--input-data=prompts.json", "--profile-export-file=profile_export.json")
			path := filepath.Join(dir, exportName)
			var f exportFile
			if c.failed < requests {
				if r.Code != 0 {
					t.Fatalf("pa-record: %v", r)
				}
				f = checkExport(t, path)
			} else {
				// Nothing was measured, so the run failed; its rows are kept.
				if r.Code != 1 {
					t.Fatalf("pa-record: %v\nwant exit code 1: no request succeeded", r)
				}
				checkSchema(t, path)
				f = readExport(t, path)
			}
			for i, q := range f.Experiments[0].Requests {
				if got, want := joinedText(q), " "+strings.Join(words[:tokens], " "); got != want {
					t.Errorf("request %d: text %q, want %q", i, got, want)
				}
			}
			failed := 0
			for i, q := range f.excluded() {
				if q.PA == nil {
					t.Fatalf("excluded request %d has no pa", i)
				}
				if q.PA.Status == "ok" || q.PA.Status == "cancelled" {
					continue // sent beyond the count that was asked for
				}
				failed++
				if q.PA.Status != c.status || q.PA.Code != c.code || !strings.Contains(q.PA.Message, c.message) {
					t.Errorf("excluded request %d: status %q, code %d, message %q; want %q, %d, … %q …",
						i, q.PA.Status, q.PA.Code, q.PA.Message, c.status, c.code, c.message)
				}
			}
			// A run in which nothing works is ended before all were sent.
			if failed != c.failed && (c.failed < requests || failed == 0) {
				t.Errorf("%d requests failed, want %d", failed, c.failed)
			}
		})
	}
}

// TestServerDies kills the server two seconds into a run that would take
// minutes. perf_analyzer waits for ever; pa-record ends by itself, says what
// happened, and keeps what was measured.
func TestServerDies(t *testing.T) {
	for _, c := range []struct {
		name    string
		start   func(testing.TB) *server
		prompts string
		args    []string
	}{
		{
			name:    "triton grpc",
			start:   func(tb testing.TB) *server { return startTriton(tb, "models") },
			prompts: `{"data": [{"text_input": ["Hi"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 5}"]}]}`,
			args:    []string{"-m", "vllm", "-i", "grpc", "--async", "--streaming"},
		},
		{
			name:    "openai",
			start:   startSSED,
			prompts: `{"data": [{"payload": [{"model": "tiny", "stream": true, "max_tokens": 8, "messages": [{"role": "user", "content": "Hi"}]}]}]}`,
			args:    []string{"-m", "tiny", "--service-kind", "openai", "--endpoint", "v1/chat/completions", "--async"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.start(t)
			url := s.HTTP
			if s.GRPC != "" {
				url = s.GRPC
			}
			kill := time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(s.PID, syscall.SIGKILL) })
			defer kill.Stop()
			dir, r := record(t, c.prompts, append(c.args, "-u", url, "--concurrency-range", "2", "--request-count", "5000",
				"--input-data=prompts.json", "--profile-export-file=profile_export.json")...)
			if r.Code != 1 {
				t.Errorf("pa-record: %v\nwant exit code 1", r)
			}
			if !strings.Contains(r.Stderr, url) {
				t.Errorf("stderr does not name %s:\n%s", url, r.Stderr)
			}
			f := checkExport(t, filepath.Join(dir, exportName))
			f.requests(t, 5)
			statuses := map[string]int{}
			for _, q := range f.excluded() {
				if q.PA != nil {
					statuses[q.PA.Status]++
				}
			}
			if statuses["connect_error"]+statuses["rpc_error"]+statuses["truncated"] == 0 {
				t.Errorf("statuses of the excluded requests = %v, want broken or refused ones", statuses)
			}
		})
	}
}

// checkRefused checks a run that could not begin: exit code 1, one line that
// says why, and no export.
func checkRefused(t *testing.T, dir string, r result, want ...string) {
	t.Helper()
	if r.Code != 1 {
		t.Errorf("pa-record: %v\nwant exit code 1", r)
	}
	if n := strings.Count(strings.TrimSpace(r.Stderr), "\n") + 1; n > 3 {
		t.Errorf("stderr has %d lines, want no more than 3:\n%s", n, r.Stderr)
	}
	for _, w := range want {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("stderr does not name %q:\n%s", w, r.Stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, exportName)); err == nil {
		t.Errorf("an export was written")
	}
}
