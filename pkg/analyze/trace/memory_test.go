package trace

import (
	"io"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// Requests are packed while all are read.
func TestMemory(t *testing.T) {
	testenv.NoRace(t)
	for _, responses := range []int{0, 1, 3} {
		each := memrun.HeldByEach(func(n int) (bytes uint64) {
			r := memrun.NewGenerated(n, responses, func() { bytes = memrun.HeapInUse() })
			if _, err := Write(t.Context(), io.Discard, r, Config{}); err != nil {
				t.Fatal(err)
			}
			return bytes
		})
		if each > 120 {
			t.Errorf("a request of %d responses takes %.0f bytes, want at most 120", responses, each)
		}
	}
}
