package recorder

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// fewestEnded is the number of ended requests from which a level's error rate is judged
// before the level is over.
const fewestEnded = 20

// maxFailureKinds bounds the kinds of failures that errorRate counts separately.
const maxFailureKinds = 64

// An errorRate counts how the requests of a level ended, warm-up included. Cancelled
// requests did not end by themselves and do not count.
type errorRate struct {
	failed, ended int
	overflowed    int           // of failed: longer than the context of the model
	kinds         []FailureKind // ordered by their first failure
}

func (e *errorRate) add(r *export.Request) {
	switch r.Status {
	case export.StatusCancelled:
		return
	case export.StatusOK:
		e.ended++
		return
	}
	e.ended++
	e.failed++
	if r.Status == export.StatusContextOverflow {
		e.overflowed++
	}
	for i := range e.kinds {
		if k := &e.kinds[i]; k.Status == r.Status && k.Code == r.Code {
			k.N++
			return
		}
	}
	if len(e.kinds) < maxFailureKinds {
		e.kinds = append(e.kinds, FailureKind{r.Status, r.Code, r.Message, 1})
	}
}

// above reports whether more than the fraction limit of the requests failed.
func (e *errorRate) above(limit float64) bool {
	return e.ended > 0 && float64(e.failed) > limit*float64(e.ended)
}

// overflows reports whether more than the fraction limit of the requests were longer than the context of the model.
func (e *errorRate) overflows(limit float64) bool {
	return e.ended > 0 && float64(e.overflowed) > limit*float64(e.ended)
}

// overflowError returns the error of a rate of overflows above the limit.
func (e *errorRate) overflowError(level load.Level, limit float64) *OverflowRateError {
	err := &OverflowRateError{Load: level, Overflowed: e.overflowed, Ended: e.ended, Limit: limit}
	for _, k := range e.kinds {
		if k.Status == export.StatusContextOverflow {
			err.Message = k.Message
			break
		}
	}
	return err
}

// error returns the error of a rate above the limit.
func (e *errorRate) error(level load.Level, limit float64) *ErrorRateError {
	err := &ErrorRateError{Load: level, Failed: e.failed, Ended: e.ended, Limit: limit}
	for _, k := range e.kinds {
		if k.N > err.Common.N {
			err.Common = k
		}
	}
	return err
}
