// Package testenv gives tests what they need of the machine: a terminal, a program.
// Where a machine lacks it, a test is skipped; in CI it fails, because a skipped test
// looks like a passed one.
package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// Lacks ends the test because the machine lacks what the format names. The test is
// skipped, and fails where the environment variable CI is set.
func Lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("CI needs this test, and this machine lacks "+format, args...)
	}
	t.Skipf("this machine lacks "+format, args...)
}

// Program returns the path of an installed program. Where there is none, it ends the
// test as [Lacks] does.
func Program(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Lacks(t, "a program: %v", err)
	}
	return path
}
