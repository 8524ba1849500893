package dialect

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// LeftOut counts the requests that a writer of a result file leaves out: requests whose start is not known, and
// requests outside of the measured phase.
type LeftOut struct{ startless, skipped int }

// Skip counts q and returns true if the file has no place for it.
func (l *LeftOut) Skip(q *export.Request) bool {
	switch {
	case q.StartNS == 0:
		l.startless++
	case q.Phase == export.PhaseWarmup || q.Phase == export.PhaseCooldown:
		l.skipped++
	default:
		return false
	}
	return true
}

// Warnings returns a warning for each kind of requests that were left out. why is the end of the one about
// the phase.
func (l *LeftOut) Warnings(why string) []error {
	var all []error
	if l.startless > 0 {
		all = append(all, fmt.Errorf("left out: %s whose time of sending is not known", plural.Of(l.startless, "request")))
	}
	if l.skipped > 0 {
		all = append(all, fmt.Errorf("left out: %s of the warmup or after the measurement%s", plural.Of(l.skipped, "request"), why))
	}
	return all
}
