//go:build realservers

package realservers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/golden"
)

// runTimeout bounds one program. The longest runs of the tests take 20 s.
const runTimeout = 3 * time.Minute

// A result holds the output and the exit code of a program. Its String is for failure
// messages.
type result struct {
	Args   []string // Args[0] is the program
	Stdout string
	Stderr string
	Code   int // exit code; 128 + n for signal n, as a shell counts
}

func (r result) String() string {
	return fmt.Sprintf("%s\nexit code %d\nstdout:\n%s\nstderr:\n%s", strings.Join(r.Args, " "), r.Code, ends(r.Stdout), ends(r.Stderr))
}

// ends cuts the middle out of a long text: perf_analyzer prints 400 lines of usage before
// its error.
func ends(s string) string {
	const first, last = 1000, 3000
	if len(s) <= first+last {
		return s
	}
	return s[:first] + "\n[…]\n" + s[len(s)-last:]
}

// runProgram runs a program in dir and waits for its end. The exit code is in the result. It
// fails the test when the program cannot be started or takes over 3 minutes.
func runProgram(tb testing.TB, dir, program string, args ...string) result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), runTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second // for a grandchild that keeps the pipes open
	err := cmd.Run()
	r := result{Args: cmd.Args, Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		tb.Fatalf("%v after %v: %v", ctx.Err(), runTimeout, r)
	case errors.As(err, &exit):
		r.Code = exit.ExitCode()
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			r.Code = 128 + int(s.Signal())
		}
	case err != nil:
		tb.Fatalf("%v: %v", err, r)
	}
	return r
}

// program returns the path of one of the project's commands: the value of the environment
// variable of its name (PA_RECORD, PA_ANALYZE), else bin/<name> in the module, which make
// builds. It fails the test when there is no such file.
func program(tb testing.TB, name string) string {
	tb.Helper()
	path := os.Getenv(strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	if path == "" {
		path = filepath.Join(golden.Root(tb), "bin", name)
	}
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%v; run make first", err)
	}
	return path
}
