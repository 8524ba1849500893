package calibrate

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/pkg/export"
)

// A Truth is what the server knows of a request.
type Truth struct {
	// ReceivedNS is when its last byte had arrived, as the server's kernel has
	// it; 0 if that is not known.
	ReceivedNS uint64
	// Events are what was answered, in order, one for each response that the
	// recorder should have.
	Events []Event
}

// An Event is one server-sent event or gRPC message.
type Event struct {
	KernelNS uint64 // the kernel let its last byte go; 0: not known
	UserNS   uint64 // the server's clock before it handed the event over
	Tokens   int    // output tokens in it
}

// A Recording collects the errors of one way of taking times. Use
// [NewRecording].
type Recording struct {
	result  export.CalibratedRecording
	receive deviations
	start   deviations
}

// deviations are recorded minus true times.
type deviations struct {
	ns    []int64
	truth export.StampCount
}

// NewRecording returns an empty recording; stamps, "kernel" or "user", is who is
// asked for the times.
func NewRecording(stamps string) *Recording {
	return &Recording{result: export.CalibratedRecording{Stamps: stamps}}
}

// Add compares a recorded request with what the server knows of it, nil for
// nothing. It keeps 8 bytes for each token and nothing of q and t.
func (r *Recording) Add(q *export.Request, t *Truth) {
	if q.Status != export.StatusOK || t == nil || len(q.Responses) != len(t.Events) {
		r.result.Skipped++
		return
	}
	r.result.Requests++
	r.result.StartSources.Add(q.StartSource)
	if t.ReceivedNS != 0 && q.StartNS != 0 {
		r.start.add(q.StartNS, t.ReceivedNS, 0)
	}
	before := -1 // the response with a token before
	for i, e := range t.Events {
		if e.Tokens == 0 {
			continue
		}
		x := &q.Responses[i]
		r.result.Sources.Add(x.Source)
		if before >= 0 && q.Responses[before].Read == x.Read {
			r.result.Merged++
		}
		before = i
		r.receive.add(x.RecvNS, e.KernelNS, e.UserNS)
	}
}

// add notes a time and the truth: the kernel's, else the server's own.
func (e *deviations) add(ns, kernelNS, userNS uint64) {
	truth := kernelNS
	if truth != 0 {
		e.truth.Kernel++
	} else {
		truth = userNS
		e.truth.User++
	}
	e.ns = append(e.ns, int64(ns-truth)) // wraps around to the signed difference
}

// Result returns what was found so far.
func (r *Recording) Result() export.CalibratedRecording {
	result := r.result
	result.Receive, result.Start = r.receive.summary(), r.start.summary()
	return result
}

// summary returns the distribution, nil without errors.
func (e *deviations) summary() *export.ClockError {
	if len(e.ns) == 0 {
		return nil
	}
	sorted := slices.Clone(e.ns)
	slices.Sort(sorted)
	s := &export.ClockError{N: len(sorted), Truth: e.truth, MedianNS: percentile(sorted, 0.5)}
	for i, ns := range sorted {
		sorted[i] = max(ns, -ns)
	}
	slices.Sort(sorted)
	s.P50NS, s.P90NS, s.P99NS, s.P999NS = percentile(sorted, 0.5), percentile(sorted, 0.9), percentile(sorted, 0.99), percentile(sorted, 0.999)
	s.MaxNS = sorted[len(sorted)-1]
	return s
}

// percentile returns the quantile p of sorted values, of type 7: linear between
// the two around p·(n−1), rounded to a whole number.
func percentile(sorted []int64, p float64) int64 {
	i, f := quantile.Position(len(sorted), p)
	if f == 0 {
		return sorted[i]
	}
	a, b := sorted[i], sorted[i+1]
	return a + int64(math.Round(f*float64(b-a)))
}
