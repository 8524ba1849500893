package recorder

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// FailedError ends a run whose requests all fail. The export holds the recorded part.
type FailedError struct {
	Failures int // in a row
	OK       int // successful before
	// Status, Code and Message describe the last failure; Message is the text of the
	// server or the client.
	Status  export.Status
	Code    int
	Message string
}

func (e *FailedError) Error() string {
	what := (&FailureKind{Status: e.Status, Code: e.Code, Message: e.Message}).String()
	if e.OK == 0 {
		if e.Failures == 1 {
			return "the first request failed: " + what
		}
		return fmt.Sprintf("all of the first %s failed: %s", plural.GroupedOf(e.Failures, "request"), what)
	}
	return fmt.Sprintf("the last %s all failed (%s were good before): %s", plural.GroupedOf(e.Failures, "request"), plural.Grouped(e.OK), what)
}

// ErrorRateError ends a run when too many requests fail; see Config.MaxErrorRate. The
// export holds the recorded part.
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

// OverflowRateError ends a run when too many requests are longer than the context of the model; see Config.MaxOverflowRate.
// The export holds the recorded part.
type OverflowRateError struct {
	Load              load.Level
	Overflowed, Ended int // requests of the level
	Limit             float64
	Message           string // of the server, about the first of them
}

func (e *OverflowRateError) Error() string {
	return fmt.Sprintf("%v: %s of %s did not fit into the context of the model, %s, more than the %s allowed; the server says: %s",
		e.Load, plural.Grouped(e.Overflowed), plural.GroupedOf(e.Ended, "request"), percent(float64(e.Overflowed)/float64(e.Ended)), percent(e.Limit), e.Message)
}

// percent formats a fraction with up to three significant digits.
func percent(f float64) string { return strconv.FormatFloat(100*f, 'g', 3, 64) + "%" }

// FailureKind is a kind of failure: a status and a code.
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

// BacklogError ends a run that produces more than can be written or decoded. The export
// holds the recorded part, its last requests without outputs.
type BacklogError struct {
	Waiting int64 // bytes
	Decode  bool  // the bytes wait to be decoded, not to be written
}

func (e *BacklogError) Error() string {
	mb := e.Waiting >> 20
	if e.Decode {
		return fmt.Sprintf("the machine is too slow to record this load: %d MB of answers wait to be decoded; lower the load or use one with more cores", mb)
	}
	return fmt.Sprintf("the disk is too slow for this run: %d MB wait to be written; record to a faster one or lower the load", mb)
}
