package main

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Where percentiles are not exact, the console says so, and else not.
func TestConsoleApproximate(t *testing.T) {
	for _, approximate := range []bool{false, true} {
		var out strings.Builder
		printLevels(&out, []recorder.Level{{Load: load.Concurrency{N: 4}, OK: 1, Latency: recorder.Latency{N: 1, MeanNS: 5e6, Approximate: approximate}}}, -1, false)
		if got := strings.Contains(out.String(), "percentiles are up to 0.03% too high"); got != approximate {
			t.Errorf("approximate %v, console:\n%s", approximate, out.String())
		}
	}
}

// Requests that were sent again are counted, where there are any.
func TestConsoleResent(t *testing.T) {
	for n, want := range map[int]string{0: "", 3: "    Requests sent again: 3 (their connections were closed under them)\n"} {
		var out strings.Builder
		printLevels(&out, []recorder.Level{{Load: load.Concurrency{N: 4}, OK: 5, Resent: n}}, -1, false)
		if got := strings.Contains(out.String(), "sent again"); got != (n > 0) || !strings.Contains(out.String(), want) {
			t.Errorf("%d sent again, console:\n%s", n, out.String())
		}
	}
}
