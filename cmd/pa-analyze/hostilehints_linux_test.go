package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// hostileFile is an export whose hints ask for what no file may have: a report
// that writes a CSV file, and a tokenizer of that name.
func hostileFile(dialect, tokenizer string) string {
	return `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
		`{"timestamp":1000000,"request_inputs":{"payload":"{\"messages\":[{\"role\":\"user\",\"content\":\"one two\"}],\"model\":\"m\",\"stream\":true}"},` +
		`"response_timestamps":[2000000,3000000],"response_outputs":[{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"object\":\"chat.completion.chunk\"}\n\n"},{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}],\"object\":\"chat.completion.chunk\"}\n\n"}]}],` +
		`"window_boundaries":[0,9000000]}],"version":"1","service_kind":"openai","endpoint":"v1/chat/completions",` +
		`"pa":{"schema":"pa-export/1","analysis_hints":{"dialect":"` + dialect + `","tokenizer":"` + tokenizer + `","streaming":"true","endpoint_type":"chat"}}}`
}

// Hints of a file open no connection, no path but the file itself and the cache
// of tokenizers, and write nothing; the latencies are printed.
func TestHostileHints(t *testing.T) {
	var asked atomic.Int32
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer hub.Close()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret.json")
	if err := os.WriteFile(secret, []byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []string{"genai-perf-24.03", "genai-perf-25.08", "aiperf", "vllm", "sglang", "trtllm-1.0", "perf_analyzer"} {
		for _, tokenizer := range []string{"evil/model", "/dev/zero", pipe, secret, "secret.json", "../secret", dir} {
			t.Run(dialect+" "+filepath.Base(tokenizer), func(t *testing.T) {
				folder := filepath.Join(dir, "exports")
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(folder)
				file := filepath.Join(folder, "run.json")
				if err := os.WriteFile(file, []byte(hostileFile(dialect, tokenizer)), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Chdir(dir)
				t.Setenv("HF_ENDPOINT", hub.URL)
				t.Setenv("HF_TOKEN", "hf_secret")
				t.Setenv("HF_HOME", filepath.Join(dir, "hf"))
				result := make(chan result, 1)
				go func() { result <- exec(t, "", "report", file) }()
				select {
				case got := <-result:
					if out := strings.ToLower(got.stdout); got.code != 0 || !strings.Contains(out, "latency") && !strings.Contains(out, "ttft") {
						t.Errorf("exit code %d, standard output %q, standard error %s", got.code, got.stdout, got.stderr)
					}
				case <-time.After(30 * time.Second):
					t.Fatal("the report does not end")
				}
				if n := asked.Load(); n != 0 {
					t.Errorf("the hub was asked %d times", n)
				}
				entries, err := os.ReadDir(folder)
				if err != nil || len(entries) != 1 {
					t.Errorf("the folder of the export holds %v, %v", entries, err)
				}
			})
		}
	}
}

// The system calls show it, too: pa-analyze connects to nothing. It opens only the
// named file, the tokenizer cache, and the files that the Go runtime reads at start.
func TestHostileHintsTraced(t *testing.T) {
	strace := testenv.Program(t, "strace")
	binary, err := osexec.LookPath("pa-analyze") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, log := filepath.Join(dir, "run.json"), filepath.Join(dir, "strace.log")
	if err := os.WriteFile(file, []byte(hostileFile("genai-perf-25.08", "evil/model")), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "hf")
	cmd := osexec.CommandContext(t.Context(), strace, "-f", "-qq", "-e", "trace=open,openat,creat,connect,rename,renameat2,unlinkat,mkdirat", "-o", log, binary, "report", file)
	cmd.Env = []string{"HF_HOME=" + cache, "HF_TOKEN=hf_secret", "HF_ENDPOINT=http://127.0.0.1:9", "TMPDIR=" + dir}
	out, err := cmd.CombinedOutput()
	if exit := new(osexec.ExitError); errors.As(err, &exit) && strings.Contains(string(out), "ptrace") {
		testenv.Lacks(t, "the right to trace a process: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "Request Latency") {
		t.Fatalf("%v: %s", err, out)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	opened := false
	allowed := []string{cache, binary, "/sys/", "/proc/", "/lib", "/usr/lib", "/etc/ld.so", "/etc/localtime"}
	for line := range strings.Lines(string(calls)) {
		switch {
		case strings.Contains(line, `"`+file+`", O_RDONLY`):
			opened = true
		case strings.Contains(line, "resumed>"), strings.Contains(line, "+++"), strings.Contains(line, "--- SIG"):
		case strings.Contains(line, "???( <detached ...>"): // a thread that the end of the process met before strace knew its call
		case strings.Contains(line, "O_RDONLY") && slices.ContainsFunc(allowed, func(path string) bool { return strings.Contains(line, `"`+path) }):
		default:
			t.Errorf("not expected: %s", line)
		}
	}
	if !opened {
		t.Errorf("the file itself was not seen to be opened:\n%s", calls)
	}
}
