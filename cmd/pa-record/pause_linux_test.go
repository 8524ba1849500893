package main

import (
	"fmt"
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
	"github.com/pa-tools/pa/pkg/export"
)

// stopEnv is how long TestStopped stops a run: 2s in the long version of the test.
const stopEnv = "PA_RECORD_TEST_STOP"

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "T")
}

// A run that is stopped and continued says so: the pause is in the export, and what
// it did on standard error.
func TestStopped(t *testing.T) {
	t.Parallel()
	length := 700 * time.Millisecond
	if text := os.Getenv(stopEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	srv := startSim(t, "--ttft", "5ms", "--itl", "2ms", "--output-tokens", "10")
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "x.json"), filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.arrow")}
	cmd, stderr := startRecord(t, srv, paths...)
	srv.waitForRequests(t, 20)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return isStopped(cmd.Process.Pid) }) {
		t.Fatal("the process does not stop")
	}
	stopped := time.Now()
	time.Sleep(length)
	continued := time.Now()
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	srv.waitForRequests(t, len(srv.ledgerNow(t))+20)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error is the exit code
	for _, path := range paths {
		run, _ := exporttest.Read(t, path)
		if len(run.Meta.Pauses) != 1 {
			t.Errorf("%s: pauses %+v, want one\n%s", filepath.Base(path), run.Meta.Pauses, stderr)
			continue
		}
		p := run.Meta.Pauses[0]
		named, was := time.Duration(p.DurationNS), continued.Sub(stopped)
		t.Logf("stopped for %v, named %v", was, named)
		// The clocks of the two processes are set by one clock, some µs apart.
		const apart = uint64(time.Millisecond)
		if p.Cause != export.PauseStopped || p.StartNS > uint64(stopped.UnixNano())+apart || p.EndNS+apart < uint64(continued.UnixNano()) || uint64(named) != p.EndNS-p.StartNS {
			t.Errorf("%s: pause %+v does not hold the time from %d to %d", filepath.Base(path), p, stopped.UnixNano(), continued.UnixNano())
		}
		if named > was+time.Second { // a busy machine may take its time
			t.Errorf("%s: stopped for %v, named %v", filepath.Base(path), was, named)
		}
	}
	if !strings.Contains(stderr.String(), "concurrency 4: this process was stopped for ") {
		t.Errorf("standard error says nothing of the pause: %s", stderr)
	}
}

// Ctrl-Z and fg on a terminal are a pause, too.
func TestCtrlZ(t *testing.T) {
	sh := testenv.Program(t, "sh")
	srv := startSim(t, "--ttft", "5ms", "--itl", "2ms", "--output-tokens", "10")
	path := filepath.Join(t.TempDir(), "x.json")
	master, slave := testenv.Terminal(t, 0)
	// With job control the shell goes on when its foreground job is stopped.
	script := fmt.Sprintf("set -m; %s --service-kind openai -u %s --streaming --concurrency-range 4 --duration 1h --profile-export-file %s; sleep 0.5; fg >/dev/null", os.Args[0], srv.openAI, path)
	cmd := exec.Command(sh, "-c", script)
	cmd.Env = append(os.Environ(), childEnv+"=1", "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	reading := make(chan struct{})
	go func() { // ends when the terminal is closed
		_, _ = io.Copy(&shown, master)
		close(reading)
	}()
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	srv.waitForRequests(t, 20)
	if _, err := master.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	before := 0
	eventually(func() bool { // nothing is sent any more: it is stopped
		n := len(srv.ledgerNow(t))
		same := n == before
		before = n
		if !same {
			time.Sleep(100 * time.Millisecond)
		}
		return same
	})
	srv.waitForRequests(t, before+20) // it goes on
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error is the exit code
	slave.Close()
	<-reading
	if !timer.Stop() {
		t.Fatalf("pa-record hangs: %s", shown.String())
	}
	run, _ := exporttest.Read(t, path)
	if len(run.Meta.Pauses) != 1 || run.Meta.Pauses[0].Cause != export.PauseStopped || run.Meta.Pauses[0].DurationNS < int64(400*time.Millisecond) {
		t.Errorf("pauses %+v, want one of half a second: %s", run.Meta.Pauses, shown.String())
	}
	if !strings.Contains(shown.String(), "this process was stopped for ") {
		t.Errorf("the terminal shows nothing of the pause: %s", shown.String())
	}
}
