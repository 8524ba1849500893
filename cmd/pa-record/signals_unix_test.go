//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// The first signal ends pa-record at every stage before the load, also where it
// waits for a pipe.
func TestSignalBeforeLoad(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// busy returns when the process waits for what the test does not do.
	writeFIFO := func(io.Writer, io.Reader) (io.Closer, error) {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(f, `{"text": "a"}`+"\n")
		return f, err
	}
	writeStdin := func(stdin io.Writer, _ io.Reader) (io.Closer, error) {
		line := `{"text": "` + strings.Repeat("a ", 1000) + "\"}\n"
		_, err := io.WriteString(stdin, strings.Repeat(line, 200)) // more than a pipe holds: it is being read
		return nil, err
	}
	readStdout := func(_ io.Writer, stdout io.Reader) (io.Closer, error) {
		_, err := io.ReadFull(stdout, make([]byte, 1)) // and no more
		return nil, err
	}
	for _, tt := range []struct {
		name   string
		args   string
		busy   func(stdin io.Writer, stdout io.Reader) (io.Closer, error)
		signal syscall.Signal
		code   int
	}{
		{"inputs reads a pipe", "inputs -m m --service-kind openai --input-data " + fifo, writeFIFO, syscall.SIGINT, 130},
		{"inputs reads standard input", "inputs -m m --service-kind openai --input-data -", writeStdin, syscall.SIGTERM, 143},
		{"inputs writes a pipe", "inputs -m m --service-kind openai --synthetic-input-tokens-mean 2000 --num-dataset-entries 3000 -n 1000000", readStdout, syscall.SIGINT, 130},
		{"a run reads a pipe", "-m m --service-kind openai -u sim:// --input-data " + fifo, writeFIFO, syscall.SIGTERM, 143},
		{"a run reads standard input", "-m m --service-kind openai -u sim:// --input-data -", writeStdin, syscall.SIGINT, 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], strings.Fields(tt.args)...)
			cmd.Env = append(os.Environ(), childEnv+"=1")
			cmd.Dir = t.TempDir()
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdin, stdout := testenv.Start(t, cmd)
			timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			held, err := tt.busy(stdin, stdout)
			if err != nil {
				t.Fatal(err)
			}
			if held != nil {
				defer held.Close()
			}
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its error is the exit code
			if !timer.Stop() {
				t.Fatalf("pa-record had not ended 20 s after the signal: %s", stderr.String())
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(stderr.String(), "pa-record: ended by ") {
				t.Errorf("exit code %d, want %d and a line that says why: %s", code, tt.code, stderr.String())
			}
		})
	}
}

// Recover ends at a signal, keeps the journal then, and does not wait for a pipe.
func TestRecoverSignals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "x"+journal.Suffix)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := inProcess(t.Context(), t, "recover", fifo); code != 1 || !strings.Contains(stderr, "not a regular file") {
		t.Errorf("a pipe: exit code %d: %s", code, stderr)
	}

	srv := startSim(t, "--ttft", "1ms", "--itl", "0s", "--output-tokens", "3")
	path := filepath.Join(dir, "y.json")
	cmd, _ := startRecord(t, srv, path)
	srv.waitForRequests(t, 100)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	// The export goes into a pipe of which nobody reads more than a byte, so that recover cannot end.
	out := filepath.Join(dir, "out.json")
	if err := syscall.Mkfifo(out, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(out, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for recover, which may end before
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	journal := exportStem(path) + journal.Suffix
	rec := exec.Command(os.Args[0], "recover", journal, "--profile-export-file", out)
	rec.Env = append(os.Environ(), childEnv+"=1")
	var stderr strings.Builder
	rec.Stderr = &stderr
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = rec.Process.Kill() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = rec.Wait() // its error is the exit code
	}()
	if !eventually(func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		n, _ := reader.Read(make([]byte, 1)) // 0 bytes until recover has opened the pipe
		return n > 0
	}) {
		t.Error("recover writes nothing")
	}
	_ = rec.Process.Signal(syscall.SIGTERM) // an error if it has ended
	<-ended
	if !timer.Stop() {
		t.Fatal("recover had not ended 20 s after it began")
	}
	// A short journal may fit in the pipe.
	code := rec.ProcessState.ExitCode()
	if _, err := os.Stat(journal); code != 143 && code != 0 || (err == nil) != (code == 143) {
		t.Errorf("exit code %d, the journal: %v; want 143 and the journal kept: %s", code, err, stderr.String())
	}
}

// A run that is killed before its first request leaves an empty journal. It does
// not keep the next run from starting, and recover removes it.
func TestEmptyJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	journal := exportStem(path) + journal.Suffix
	cmd := exec.Command(os.Args[0], "--service-kind", "openai", "-m", "m", "-u", "127.0.0.1:1", "--wait-ready", "1h", "--profile-export-file", path)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	there := eventually(func() bool { _, err := os.Stat(journal); return err == nil })
	if code, _, stderr := inProcess(t.Context(), t, "recover", journal); there && (code != 1 || !strings.Contains(stderr, "still writing")) {
		t.Errorf("recover while it waits: exit code %d: %s", code, stderr)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if st, err := os.Stat(journal); err != nil || st.Size() != 0 {
		t.Fatalf("the journal of the killed run: %v, %v; want an empty file", st, err)
	}
	code, stdout, stderr := inProcess(t.Context(), t, "recover", journal)
	if code != 0 || !strings.Contains(stdout, "nothing to recover") {
		t.Errorf("recover: exit code %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("recover left the empty journal")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("recover wrote an export of nothing")
	}

	if err := os.WriteFile(journal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := inProcess(t.Context(), t, "-u", "sim://", "--request-count", "4", "--profile-export-file", path); code != 0 {
		t.Errorf("a run beside an empty journal: exit code %d: %s", code, stderr)
	}
	if _, requests := exporttest.Read(t, path); len(requests) != 4 {
		t.Errorf("%d requests, want 4", len(requests))
	}
}
