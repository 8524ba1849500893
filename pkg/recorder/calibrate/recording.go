package calibrate

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// A Truth holds the server's times of a request.
type Truth struct {
	// ReceivedNS is the time of the server's kernel when the last byte of the request
	// arrived; 0 if unknown.
	ReceivedNS uint64
	// Events are the events of the answer in order, one for each response that the
	// recorder should have.
	Events []Event
}

// An Event is one server-sent event or gRPC message.
type Event struct {
	KernelNS uint64 // time at which the kernel sent the last byte; 0: unknown
	UserNS   uint64 // the server's clock before it wrote the event
	Tokens   int    // output tokens of the event
}

// A Recording collects the errors of one kind of recorded times. Use newRecording.
type Recording struct {
	result  export.CalibratedRecording
	receive deviations
	start   deviations
}

// deviations holds differences between recorded and true times.
type deviations struct {
	ns    []int64
	truth export.StampCount // who took the true times
}

// newRecording returns an empty recording. stamps is the kind of its times, "kernel" or
// "user".
func newRecording(stamps string) *Recording {
	return &Recording{result: export.CalibratedRecording{Stamps: stamps}}
}

// Add compares a recorded request with the server's times, nil if the server has none. It
// keeps 8 bytes for each token and no reference to q and t.
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
	before := -1 // index of the previous response with a token
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

// add adds a recorded time. The true time is kernelNS or, if that is 0, userNS.
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

// Result returns the figures of the requests so far.
func (r *Recording) Result() export.CalibratedRecording {
	result := r.result
	result.Receive, result.Start = r.receive.summary(), r.start.summary()
	return result
}

// summary returns the distribution of the errors, nil if there are none.
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

// percentile returns the quantile p of sorted values by type 7: interpolated linearly
// between the two values around p·(n−1), and rounded to a whole number.
func percentile(sorted []int64, p float64) int64 {
	i, f := stat.Position(len(sorted), p)
	if f == 0 {
		return sorted[i]
	}
	a, b := sorted[i], sorted[i+1]
	return a + int64(math.Round(f*float64(b-a)))
}
