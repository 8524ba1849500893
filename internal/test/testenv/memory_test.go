package testenv_test

import (
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// A failures records whether a test failed.
type failures struct {
	testing.TB
	failed bool
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.failed = true }

var sink []byte

func TestBoundMemory(t *testing.T) {
	for _, tt := range []struct {
		bytes  int
		failed bool
	}{{1 << 20, false}, {8 << 20, true}} {
		f := &failures{TB: t}
		testenv.BoundMemory(f, 1000, 1<<20, 2000, func() { sink = make([]byte, tt.bytes) })
		if f.failed != tt.failed {
			t.Errorf("%d bytes within 1 MiB + 2,000 for each of 1,000 bytes: failed %v, want %v", tt.bytes, f.failed, tt.failed)
		}
	}
}
