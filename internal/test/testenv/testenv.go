package testenv

import (
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
)

// longVariable is the environment variable that make test-long sets.
const longVariable = "PA_TEST_LONG"

// Long skips the test unless make test-long runs it. A test that calls Long has a
// quicker neighbor in make test that covers the same behavior.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("left to make test-long") // tools/testlog.go counts tests with this message
	}
}

// NoRace skips the test under the race detector, which finds nothing in it that it does not find
// in other tests: the test measures memory, computes for long in one goroutine, or repeats
// with other inputs what a quicker test runs. make test and make test-long run it.
func NoRace(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("left to make test-long")
	}
}

// MoreParallel lets three parallel tests run for each core, for a TestMain of tests that wait for servers more than they
// compute. The flag -parallel of the command line, which is parsed later, has precedence. With the race detector,
// which slows the machine down, as many run as usual.
func MoreParallel() {
	if !Race {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
}

// IsLong reports whether make test-long runs the tests.
func IsLong() bool { return os.Getenv(longVariable) != "" }

// Stride returns the step of a sweep: 1 in make test-long, short otherwise.
//
//	for i := 0; i < len(file); i += Stride(97) {
func Stride(short int) int {
	if IsLong() {
		return 1
	}
	return short
}

// Lacks ends the test because the machine lacks something, which the format names. The
// test is skipped, and fails where the environment variable CI is set.
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

// Start starts a process, and returns pipes to its standard input and from its standard output.
func Start(t testing.TB, cmd *exec.Cmd) (stdin io.WriteCloser, stdout io.Reader) {
	t.Helper()
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return stdin, stdout
}
