package recorder

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// fewestEnded requests of a level tell its error rate before the level is over.
const fewestEnded = 20

// maxKinds bounds the kinds of failures that are told apart.
const maxKinds = 64

// An errorRate counts how the requests of a level ended, warm-up included.
// Cancelled ones did not end by themselves and do not count.
type errorRate struct {
	failed, ended int
	kinds         []FailureKind // in the order of their first
}

// A FailureKind is a kind of failure: a status and a code.
type FailureKind struct {
	Status  export.Status
	Code    int    // HTTP status or gRPC code; 0 for none
	Message string // of the first failure of the kind
	N       int    // failures
}

// String returns "http_error 500: text".
func (k *FailureKind) String() string {
	s := k.Status.String()
	if k.Code != 0 {
		s += " " + strconv.Itoa(k.Code)
	}
	if k.Message != "" {
		s += ": " + k.Message
	}
	return s
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
	for i := range e.kinds {
		if k := &e.kinds[i]; k.Status == r.Status && k.Code == r.Code {
			k.N++
			return
		}
	}
	if len(e.kinds) < maxKinds {
		e.kinds = append(e.kinds, FailureKind{r.Status, r.Code, r.Message, 1})
	}
}

// above reports whether more than the fraction limit of the requests failed.
func (e *errorRate) above(limit float64) bool {
	return e.ended > 0 && float64(e.failed) > limit*float64(e.ended)
}

// error describes a rate above the limit.
func (e *errorRate) error(level load.Level, limit float64) *ErrorRateError {
	err := &ErrorRateError{Load: level, Failed: e.failed, Ended: e.ended, Limit: limit}
	for _, k := range e.kinds {
		if k.N > err.Common.N {
			err.Common = k
		}
	}
	return err
}

// An ErrorRateError ends a run of which too many requests failed, see
// Config.MaxErrorRate. What was recorded is in the export.
type ErrorRateError struct {
	Load          load.Level
	Failed, Ended int // requests of the level
	Limit         float64
	Common        FailureKind // the most frequent
}

func (e *ErrorRateError) Error() string {
	return fmt.Sprintf("%v: %s of %s failed, %s, more than the %s allowed; %s of them with %s",
		e.Load, plural.Grouped(e.Failed), plural.GroupedOf(e.Ended, "request"), percent(float64(e.Failed)/float64(e.Ended)), percent(e.Limit), plural.Grouped(e.Common.N), &e.Common)
}

// percent formats a fraction with up to three significant digits.
func percent(f float64) string { return strconv.FormatFloat(100*f, 'g', 3, 64) + "%" }
