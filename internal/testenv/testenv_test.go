package testenv_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/testenv"
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
		r, done := &recorder{TB: t}, make(chan struct{})
		go func() { // ends with Program, which ends its goroutine
			defer close(done)
			path := testenv.Program(r, "no-such-program")
			r.ended = "found " + path
		}()
		<-done
		if !strings.HasPrefix(r.ended, tt.want) || !strings.Contains(r.ended, "no-such-program") {
			t.Errorf("CI=%q: %q, want %q and the name", tt.ci, r.ended, tt.want)
		}
	}
}
