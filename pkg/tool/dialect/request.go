package dialect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// InOrder returns the measurements of requests in the order in which the requests were
// issued: by id if all ids differ, otherwise by start time. It may sort all in place.
func InOrder[T any](all []T, id, startNS func(T) uint64) []T {
	byID := slices.Clone(all)
	slices.SortStableFunc(byID, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	for i := 1; i < len(byID); i++ {
		if id(byID[i]) == id(byID[i-1]) {
			slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(startNS(a), startNS(b)) })
			return all
		}
	}
	return byID
}

// EndNS returns when the client was done with a request: at its last response or its failure, or when a tool's file
// says that it was.
func EndNS(q *export.Request) uint64 {
	end, _ := q.FinalResponseNS()
	end = max(q.StartNS, end, q.FailedNS)
	if q.Stated != nil && q.Stated.EndNS != nil {
		end = max(end, *q.Stated.EndNS)
	}
	return end
}

// Payload returns the body of a request; the zero Value if it has none, or one that is no JSON.
func Payload(q *export.Request) py.Value {
	if v, ok := q.Inputs.Get("payload"); ok {
		if body, err := py.ParseJSON(string(v.Data), py.JSON); err == nil {
			return body
		}
	}
	return py.Value{}
}

// Seconds returns the time from fromNS to toNS in seconds, rounded once.
func Seconds(fromNS, toNS uint64) float64 { return float64(int64(toNS-fromNS)) / 1e9 }

// Lacking returns the reason why the file of a run does not hold one of the parts; ""
// if it holds them all.
func Lacking(run *export.Run, parts ...export.Part) string {
	for _, p := range parts {
		if why, lacks := run.Lacks(p); lacks {
			return why
		}
	}
	return ""
}

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
