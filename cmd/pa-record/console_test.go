package main

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder"
)

// Where percentiles are not exact, the console says so, and else not.
func TestConsoleApproximate(t *testing.T) {
	for _, approximate := range []bool{false, true} {
		var out strings.Builder
		printLevels(&out, []recorder.Level{{Concurrency: 4, OK: 1, Latency: recorder.Latency{N: 1, MeanNS: 5e6, Approximate: approximate}}}, -1, false)
		if got := strings.Contains(out.String(), "percentiles are up to 0.03% too high"); got != approximate {
			t.Errorf("approximate %v, console:\n%s", approximate, out.String())
		}
	}
}
