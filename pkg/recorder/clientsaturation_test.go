package recorder

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The thresholds are the ones of docs/trust.md.
func TestStatedThresholds(t *testing.T) {
	text, err := os.ReadFile("../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	percent := func(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
	millis := func(d fmt.Stringer) string { return strings.Replace(d.String(), "ms", " ms", 1) }
	if busyFor.Seconds() != 1 {
		t.Errorf("busyFor is %v; docs/trust.md says a second", busyFor)
	}
	for _, want := range []string{
		"| less than " + percent(1-missedShare) + " |",
		"| p99 above " + millis(lateLimit) + ". ",
		"| " + percent(busyCPU) + " of the cores it may use, over a level of at least a second |",
		"| p99 above " + millis(slowTurnaround) + ", or above " + percent(slowShare) + " of the median latency",
		"| more than " + percent(mergedShare) + ", and at least " + fmt.Sprint(fewestMerged) + " |",
		"| a pause of Go's garbage collector | " + millis(longPause) + " |",
		"| open file descriptors | " + percent(fullFDs) + " of the limit |",
		"does not judge fewer than " + fmt.Sprint(fewest) + " values",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/trust.md lacks %q", want)
		}
	}
}
