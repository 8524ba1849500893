package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/sim"
)

// unreadEnv is how long the terminal of TestUnreadTerminal is not read: 30s in the
// long version of the test.
const unreadEnv = "PA_RECORD_TEST_UNREAD"

// fillTerminal writes to a terminal until it takes no more, as if it had been
// paused in the middle of much text.
func fillTerminal(t *testing.T, slave *os.File) {
	t.Helper()
	fd := int(slave.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for line := []byte(strings.Repeat("x", 79) + "\n"); ; {
		_, err := unix.Write(fd, line)
		if errors.Is(err, unix.EAGAIN) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil { // the flag is shared with the child
		t.Fatal(err)
	}
}

// startOnTerminal starts pa-record in the foreground of a terminal of its own.
func startOnTerminal(t *testing.T, slave *os.File, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1", "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// A terminal that nobody reads (Ctrl-S) does not stop the recording, and the first
// Ctrl-C ends the run: all that the server answered is in the export.
func TestUnreadTerminal(t *testing.T) {
	t.Parallel()
	unread := 1500 * time.Millisecond // six redrawn lines
	if text := os.Getenv(unreadEnv); text != "" {
		var err error
		if unread, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		end  func(cmd *exec.Cmd, master *os.File) error
	}{
		{"Ctrl-C", func(_ *exec.Cmd, master *os.File) error { _, err := master.WriteString("\x03"); return err }},
		{"SIGTERM", func(cmd *exec.Cmd, _ *os.File) error { return cmd.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := startSim(t, "--ttft", "20ms", "--itl", "20ms", "--output-tokens", "3")
			path := filepath.Join(t.TempDir(), "x.json")
			master, slave := testenv.Terminal(t, 0)
			fillTerminal(t, slave)
			cmd := startOnTerminal(t, slave, "--service-kind", "openai", "-u", srv.openAI, "--streaming", "--concurrency-range", "4", "--duration", "1h", "--profile-export-file", path)
			srv.waitForRequests(t, 1)
			time.Sleep(unread) // the terminal stays full for that long
			journal := exportStem(path) + journal.Suffix
			size := func() int64 {
				st, err := os.Stat(journal)
				if err != nil {
					return 0
				}
				return st.Size()
			}
			before := size()
			if !eventually(func() bool { return size() > before }) {
				t.Errorf("the journal has %d bytes and grows no more", before)
			}
			if err := tt.end(cmd, master); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait() // its error is the exit code
			took := time.Since(asked)
			if !timer.Stop() {
				t.Fatal("pa-record had not ended 20 s after the signal")
			}
			if code := cmd.ProcessState.ExitCode(); code != 130 && code != 143 {
				t.Errorf("exit code %d", code)
			}
			want := 0
			for _, e := range srv.ledger(t) {
				if e.End == sim.EndOK {
					want++
				}
			}
			run, requests := exporttest.Read(t, path)
			ok := 0
			for i := range requests {
				if requests[i].Status == export.StatusOK {
					ok++
				}
			}
			if ok != want || run.Meta.Interrupted == "" {
				t.Errorf("%d good requests in the export, interrupted by %q; the server answered %d", ok, run.Meta.Interrupted, want)
			}
			t.Logf("the terminal was not read for %v: %d requests, ended %v after the signal", unread, ok, took.Round(time.Millisecond))
		})
	}
}

// A run whose report cannot be shown has its export, and ends at the first Ctrl-C.
func TestUnreadReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	master, slave := testenv.Terminal(t, 0)
	fillTerminal(t, slave)
	cmd := startOnTerminal(t, slave, "-u", "sim://?ttft=5ms&itl=1ms&output_tokens=4", "--request-count", "4", "--profile-export-file", path)
	if !eventually(func() bool { _, err := os.Stat(path); return err == nil }) {
		t.Fatal("no export within a minute")
	}
	ended := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait() // its error is the exit code
		close(ended)
	}()
	again := time.NewTicker(100 * time.Millisecond) // the first may come while the export is being finished
	defer again.Stop()
	for late := time.After(20 * time.Second); ; {
		if _, err := master.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			if code := cmd.ProcessState.ExitCode(); code != 130 && code != 0 {
				t.Errorf("exit code %d, want 130, or 0 if Ctrl-C made room for the report", code)
			}
			return
		case <-again.C:
		case <-late:
			t.Fatal("pa-record had not ended 20 s after Ctrl-C")
		}
	}
}

// A report that cannot be written is an error that names standard output; the
// export is kept.
func TestFullStandardOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"-u", "sim://?ttft=5ms&itl=1ms&output_tokens=4", "--request-count", "4"},
		{"inputs", "-m", "m", "--service-kind", "openai"},
		{"--help"},
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		record := args[0] == "-u"
		if record {
			args = append(args, "--profile-export-file", path)
		}
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), childEnv+"=1")
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run() // its error is the exit code
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "pa-record: standard output: ") {
			t.Errorf("%v: exit code %d, want 1 and the reason:\n%s", args, code, stderr.String())
		}
		if record {
			if _, requests := exporttest.Read(t, path); len(requests) != 4 {
				t.Errorf("%v: %d requests in the export, want 4", args, len(requests))
			}
		}
	}
}
