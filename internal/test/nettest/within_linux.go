package nettest

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// withinVariable is the environment variable with the name of the test that runs in
// namespaces.
const withinVariable = "PA_LINKTEST_WITHIN"

// withinTimeout bounds a test in namespaces: nothing may hang.
const withinTimeout = 5 * time.Minute

// Within runs body in a process that may make networks: this program again, with this test
// alone, in a user namespace. t must not be a subtest. Where the system gives no
// namespaces, the test ends as testenv.Lacks says. body calls the methods of t as usual.
func Within(t *testing.T, body func()) {
	t.Helper()
	if os.Getenv(withinVariable) == t.Name() {
		body()
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v", "-test.timeout="+withinTimeout.String())
	cmd.Env = append(os.Environ(), withinVariable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL):
		testenv.Lacks(t, "namespaces for users and networks: %v", err)
	case err != nil:
		t.Fatalf("in namespaces: %v\n%s", err, out.String())
	case strings.Contains(out.String(), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in namespaces: %s", out.String())
	case !strings.Contains(out.String(), "--- PASS: "+t.Name()+" "):
		t.Fatalf("in namespaces the test did not run\n%s", out.String())
	}
	t.Logf("in namespaces:\n%s", out.String())
}
