package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// Thresholds of the rule that ends a run in which nothing works any more.
const (
	// firstFailures in a row from the start of the run end it when every slot
	// has had one: the server refuses what it is asked. A slot that still waits
	// for its first answer may yet get a good one; so may one for which this
	// machine had no file or port left, as soon as another gives its own back.
	firstFailures = 5
	// laterFailures in a row, or four per slot if that is more, end it once
	// goneAfter has passed without a success: the server is gone.
	laterFailures = 20
	goneAfter     = 10 * time.Second
)

// A failureRun counts failures in a row over a whole run.
type failureRun struct {
	row     int
	ok      int
	sinceNS uint64           // first failure of the row
	slots   map[int]struct{} // that have failed before there was a success
	last    FailedError      // Status, Code and Message of the last failure
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
func (f *failureRun) add(r *export.Request, slots int, nowNS uint64) (tooMany bool) {
	if f.row == 0 {
		f.sinceNS = nowNS
	}
	f.row++
	if f.ok == 0 && !backend.MetLocalLimit(r) {
		if f.slots == nil {
			f.slots = map[int]struct{}{}
		}
		f.slots[r.Worker] = struct{}{}
	}
	f.last = FailedError{Status: r.Status, Code: r.Code, Message: r.Message}
	if f.ok == 0 && f.row >= firstFailures && len(f.slots) >= slots {
		return true
	}
	return f.row >= max(laterFailures, 4*slots) && time.Duration(nowNS-f.sinceNS) >= goneAfter
}
