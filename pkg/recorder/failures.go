package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// Thresholds of the rule that ends a run in which every request fails.
const (
	// firstFailures is the number of failures in a row from the start of the run that
	// end it, if every slot has had one: the server refuses the requests. A slot that
	// still waits for its first answer may get a good one. So may a slot for which this
	// machine had no file or port left, as soon as another slot frees one.
	firstFailures = 5
	// laterFailures is the number of failures in a row, or four per slot if that is
	// more, that end the run once goneAfter has passed without a success: the server is
	// gone.
	laterFailures = 20
	goneAfter     = 10 * time.Second
)

// A failureStreak counts failures in a row over a whole run.
type failureStreak struct {
	n       int
	ok      int              // successful requests so far
	sinceNS uint64           // first failure of the streak
	slots   map[int]struct{} // slots that failed before the first success
	last    FailedError      // Status, Code and Message of the last failure
}

func (f *failureStreak) succeed() {
	f.n = 0
	f.ok++
}

// error returns the error of the present streak.
func (f *failureStreak) error() *FailedError {
	e := f.last
	e.Failures, e.OK = f.n, f.ok
	return &e
}

// add counts a failed request and reports whether the run must end.
func (f *failureStreak) add(r *export.Request, slots int, nowNS uint64) (tooMany bool) {
	if f.n == 0 {
		f.sinceNS = nowNS
	}
	f.n++
	if f.ok == 0 && !backend.MetLocalLimit(r) {
		if f.slots == nil {
			f.slots = map[int]struct{}{}
		}
		f.slots[r.Worker] = struct{}{}
	}
	f.last = FailedError{Status: r.Status, Code: r.Code, Message: r.Message}
	if f.ok == 0 && f.n >= firstFailures && len(f.slots) >= slots {
		return true
	}
	return f.n >= max(laterFailures, 4*slots) && time.Duration(nowNS-f.sinceNS) >= goneAfter
}

// count adds r to the level's counters. It abandons the run after too many failures in a
// row (see failureStreak), or when more requests fail than Config.MaxErrorRate allows.
func (l *levelRun) count(r *export.Request) {
	l.rate.add(r)
	if limit := l.cfg.MaxErrorRate; limit != nil && l.rate.ended >= fewestEnded && l.rate.above(*limit) {
		l.abandon(l.rate.error(l.load, *limit))
	}
	if limit := l.cfg.MaxOverflowRate; limit != nil && l.rate.ended >= fewestEnded && l.rate.overflows(*limit) {
		l.abandon(l.rate.overflowError(l.load, *limit))
	}
	switch r.Status {
	case export.StatusOK:
		l.failures.succeed()
	case export.StatusContextOverflow:
		l.out.Overflowed++
	}
	switch r.Excluded() {
	case export.NotExcluded:
		l.out.OK++
	case export.ExcludedWarmup:
		l.out.Warmup++
		if r.Status != export.StatusOK && r.Status != export.StatusCancelled {
			l.fail(r)
		}
	case export.ExcludedLate:
		l.out.Late++
	case export.ExcludedCancelled:
		l.out.Cancelled++
	default:
		l.out.Failed++
		l.fail(r)
	}
}

func (l *levelRun) fail(r *export.Request) {
	if !l.failures.add(r, l.driver.Slots(), l.cfg.Clock.NowNS()) {
		return
	}
	if limit := l.cfg.MaxErrorRate; limit != nil && l.rate.above(*limit) {
		l.abandon(l.rate.error(l.load, *limit))
		return
	}
	l.abandon(l.failures.error())
}

// abandon ends the run because of err, unless something else has ended it. It cancels the
// requests in flight; the export keeps the recorded part.
func (l *levelRun) abandon(err error) {
	if l.giveUp != nil {
		return
	}
	l.giveUp = err
	l.stopped = true
	l.admission.Close()
	l.cancel()
}
