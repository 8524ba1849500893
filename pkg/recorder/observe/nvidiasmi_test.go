package observe

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// FuzzSMI checks that no table of nvidia-smi makes the reader panic or use much memory, and
// that a table without an error gives at most one value per field.
func FuzzSMI(f *testing.F) {
	f.Add("GPU-1, 0, 35, 1024, 81559, 310.5, 61, 1980\n")
	f.Add("GPU-1, 0, [N/A], 1024, 81559, [Not Supported], 61, 1980\nGPU-2, 1, 1, 2, 3, 4, 5, 6\n")
	f.Add("\"a\"\"b\", 0, NaN, Inf, -1, 1e999, 0x10, \n")
	f.Add("No devices were found\n")
	f.Fuzz(func(t *testing.T, table string) {
		testenv.BoundMemory(t, len(table), 1<<20, 1000, func() {
			s := &source{series: map[string]*tracked{}, memory: new(atomic.Int64), scrapes: 1}
			var into export.Scrape
			err := s.readSMI(strings.NewReader(table), &into)
			if rows := 1 + strings.Count(table, "\n"); len(into.Samples) > rows*len(smiFields) || err == nil && strings.TrimSpace(table) == "" {
				t.Errorf("%q: %d samples, %v", table, len(into.Samples), err)
			}
		})
	})
}
