package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Environment variables that set the limits of a child process; limited reads them.
const (
	fdLimitEnv   = "PA_RECORD_TEST_NOFILE" // RLIMIT_NOFILE
	fileLimitEnv = "PA_RECORD_TEST_FSIZE"  // RLIMIT_FSIZE, bytes
	tmpfsEnv     = "PA_RECORD_TEST_TMPFS"  // "bytes:folder:keep": see inTmpfs
	sharedEnv    = "PA_RECORD_TEST_SHM"    // bytes: see inSharedMemory
	portsEnv     = "PA_RECORD_TEST_PORTS"  // "first last": see inNetwork
	shapedEnv    = "PA_RECORD_TEST_SHAPED" // bytes per second: see inShapedNetwork
	aheadEnv     = "PA_RECORD_TEST_AHEAD"  // duration: see withClockAhead
)

func init() { limitChild = limited }

// limited sets the limits that the environment of this process names. For some limits it also
// runs pa-record, and ends the process with the exit code of pa-record.
func limited() {
	for env, resource := range map[string]int{fdLimitEnv: unix.RLIMIT_NOFILE, fileLimitEnv: unix.RLIMIT_FSIZE} {
		if text := os.Getenv(env); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			// Setrlimit of package syscall, which then leaves the limit of files alone.
			mustDo(err, syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n}))
		}
	}
	switch {
	case os.Getenv(tmpfsEnv) != "":
		os.Exit(inTmpfs(os.Getenv(tmpfsEnv)))
	case os.Getenv(sharedEnv) != "":
		os.Exit(inSharedMemory(os.Getenv(sharedEnv)))
	case os.Getenv(portsEnv) != "":
		os.Exit(inNetwork(os.Getenv(portsEnv)))
	case os.Getenv(shapedEnv) != "":
		os.Exit(inShapedNetwork(os.Getenv(shapedEnv)))
	case os.Getenv(aheadEnv) != "":
		os.Exit(withClockAhead(os.Getenv(aheadEnv)))
	}
}

// inTmpfs mounts a file system of so many bytes over a folder, runs pa-record, and copies the
// files of the folder to another one, because no other process sees the mount.
func inTmpfs(how string) int {
	part := strings.Split(how, ":")
	size, dir, keep := part[0], part[1], part[2]
	mustDo(unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size))
	code := runHere(nil)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	mustDo(err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		mustDo(err, os.WriteFile(filepath.Join(keep, filepath.Base(name)), data, 0o600))
	}
	return code
}

// simArgument stands for the address of the simulated server of inSharedMemory.
const simArgument = "SIM"

// inSharedMemory mounts shared memory of so many bytes, which nobody else sees,
// starts a simulated Triton beside it and runs pa-record.
func inSharedMemory(size string) int {
	mustDo(unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "size="+size))
	srv, err := sim.Start(context.Background(), sim.Config{})
	mustDo(err)
	defer srv.Close()
	for i, arg := range os.Args {
		if arg == simArgument {
			os.Args[i] = srv.TritonGRPCAddr()
		}
	}
	return runHere(nil)
}

// runHere runs pa-record in this process, with the command line of the process. A nil newClock
// means the clock of the machine. It leaves the logs of libraries alone, because a server in the
// process may already use them.
func runHere(newClock func() *rxclock.Clock) int {
	env := newEnvironment(os.Getenv, make(chan os.Signal))
	if newClock != nil {
		env.newClock = newClock
	}
	return run(context.Background(), os.Args, env, os.Stdin, os.Stdout, os.Stderr)
}

func mustDo(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "test child:", err)
		os.Exit(99)
	}
}

// A childResult is how a pa-record in a process of its own ended.
type childResult struct {
	code   int
	stderr string
}

// runChild runs pa-record in a process of its own with these environment
// variables. The flags of namespaces are flags of clone(2). Where the system
// gives none the test ends as testenv.Lacks says. The process is killed after a
// minute: nothing here may hang.
func runChild(t *testing.T, env []string, namespaces uintptr, args ...string) childResult {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), childEnv+"=1"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if namespaces != 0 {
		cmd.SysProcAttr.Cloneflags = namespaces | syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Start()
	if namespaces != 0 && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL)) {
		testenv.Lacks(t, "namespaces for users: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // its error is the exit code
	if !timer.Stop() {
		t.Fatalf("pa-record hangs: %s", stderr.String())
	}
	if code := cmd.ProcessState.ExitCode(); code == 99 {
		t.Fatal(stderr.String())
	}
	return childResult{cmd.ProcessState.ExitCode(), stderr.String()}
}

// lastLine is the line of standard error that says how the run ended.
func (r childResult) lastLine() string {
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	return lines[len(lines)-1]
}

// inNetworkAddr is where the simulated server of inNetwork listens.
const inNetworkAddr = "127.0.0.1:18000"

// loopbackUp brings up the loopback device, with an MTU if that is not 0.
func loopbackUp(mtu uint32) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	mustDo(err)
	lo, err := unix.NewIfreq("lo")
	mustDo(err)
	if mtu > 0 {
		lo.SetUint32(mtu)
		mustDo(unix.IoctlIfreq(s, unix.SIOCSIFMTU, lo))
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	mustDo(unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo), unix.Close(s))
}

// inNetwork brings up the loopback of a network of its own, in which only the
// local ports from "first last" are given out, starts a simulated server in it
// and runs pa-record.
func inNetwork(ports string) int {
	loopbackUp(0)
	mustDo(os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte(ports), 0o600))
	// A port that rests may be used again after a second, not a minute.
	mustDo(os.WriteFile("/proc/sys/net/ipv4/tcp_tw_reuse", []byte("2"), 0o600))
	srv, err := sim.Start(context.Background(), sim.Config{OpenAIAddr: inNetworkAddr, TTFT: plan.ConstantDelay(5 * time.Millisecond), ITL: plan.ConstantDelay(20 * time.Millisecond), OutputTokens: plan.ConstantLength(4)})
	mustDo(err)
	defer srv.Close()
	return runHere(nil)
}

// withClockAhead runs pa-record with a clock that is ahead of the machine's, or behind it
// if ahead is negative.
func withClockAhead(ahead string) int {
	d, err := time.ParseDuration(ahead)
	mustDo(err)
	return runHere(func() *rxclock.Clock { return rxclock.NewAhead(d) })
}
