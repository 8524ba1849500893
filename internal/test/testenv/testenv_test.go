package testenv_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// recorder is a test that keeps how it ended.
type recorder struct {
	testing.TB
	ended string
}

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.ended = "skipped: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.ended = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// In CI a test that the machine cannot run fails; elsewhere it is skipped.
func TestLacks(t *testing.T) {
	for _, tt := range []struct{ ci, want string }{
		{"", "skipped: this machine lacks a program: "},
		{"true", "failed: CI needs this test, and this machine lacks a program: "},
	} {
		t.Setenv("CI", tt.ci)
		ended := run(t, func(tb testing.TB) { testenv.Program(tb, "no-such-program") })
		if !strings.HasPrefix(ended, tt.want) || !strings.Contains(ended, "no-such-program") {
			t.Errorf("CI=%q: %q, want %q and the name", tt.ci, ended, tt.want)
		}
	}
}

// run returns how a test with the given body ends.
func run(t *testing.T, body func(testing.TB)) (ended string) {
	r, done := &recorder{TB: t, ended: "passed"}, make(chan struct{})
	go func() { // a test that is skipped or fails ends its goroutine
		defer close(done)
		body(r)
	}()
	<-done
	return r.ended
}

func TestLong(t *testing.T) {
	for _, tt := range []struct {
		variable, want string
		stride         int
	}{
		{"", "skipped: left to make test-long", 7},
		{"1", "passed", 1},
	} {
		t.Setenv("PA_TEST_LONG", tt.variable)
		ended := run(t, testenv.Long)
		if stride := testenv.Stride(7); ended != tt.want || stride != tt.stride {
			t.Errorf("PA_TEST_LONG=%q: %q, stride %d, want %q, %d", tt.variable, ended, stride, tt.want, tt.stride)
		}
	}
}
