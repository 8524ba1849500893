package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Thresholds of the rule that ends a run in which nothing works any more.
const (
	// firstFailures in a row from the start of the run, or one per slot if
	// that is more, end it: the server refuses what it is asked.
	firstFailures = 5
	// laterFailures in a row after a success, or four per slot if that is
	// more, end it once goneAfter has passed without a success: the server is
	// gone.
	laterFailures = 20
	goneAfter     = 10 * time.Second
)

// A failureRun counts failures in a row over a whole run.
type failureRun struct {
	row     int
	ok      int
	sinceNS uint64      // first failure of the row
	last    FailedError // Status, Code and Message of the last failure
}

func (f *failureRun) reset() {
	f.row = 0
	f.ok++
}

// error describes the present row of failures.
func (f *failureRun) error() *FailedError {
	e := f.last
	e.Failures, e.OK = f.row, f.ok
	return &e
}

// add counts a failed request and reports whether it was one too many.
func (f *failureRun) add(r *export.Request, concurrency int, nowNS uint64) (tooMany bool) {
	if f.row == 0 {
		f.sinceNS = nowNS
	}
	f.row++
	f.last = FailedError{Status: r.Status, Code: r.Code, Message: r.Message}
	if f.ok == 0 {
		return f.row >= max(firstFailures, concurrency)
	}
	return f.row >= max(laterFailures, 4*concurrency) && time.Duration(nowNS-f.sinceNS) >= goneAfter
}
