package pawindow

import (
	"bytes"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// done is what perf_analyzer looks for in an answer of an OpenAI server to know
// its last event. Without the space it does not see it.
var done = []byte("data: [DONE]")

// NullLast reports whether the last response of r is one that perf_analyzer does
// not count. From an OpenAI server it is a response that holds "data: [DONE]",
// whatever else it holds. From another server it is a response after others that has
// no output with a value. The export shows such an output as "", and also one whose
// text is empty, so that both count as null.
//
// An answer of a single empty response is ambiguous and does not count as null: the
// answer of a decoupled model without any token looks like an empty text of another
// model. Nothing is known about requests without outputs.
func NullLast(r *export.Request, openAI bool) bool {
	n := len(r.Responses)
	if n == 0 || r.NoOutputs || r.OutputsDropped {
		return false
	}
	last := &r.Responses[n-1]
	if openAI {
		for i := range last.Outputs {
			if bytes.Contains(last.Outputs[i].Value.Data, done) {
				return true
			}
		}
		return false
	}
	return n > 1 && EmptyResponse(last)
}

// EmptyResponse reports whether no output of the response has a value.
func EmptyResponse(r *export.Response) bool {
	for i := range r.Outputs {
		if !r.Outputs[i].Value.Empty() {
			return false
		}
	}
	return true
}

// End returns when perf_analyzer takes a request to have ended, and how many
// responses it counts, which is one less than there are when the last is null.
// ok is false for a request that it does not count at all: nothing came but a
// null response, or the clock was set back meanwhile.
func End(r *export.Request, nullLast bool) (endNS uint64, responses int, ok bool) {
	n := len(r.Responses)
	if nullLast {
		n--
	}
	if n <= 0 {
		return 0, 0, false
	}
	endNS = r.Responses[n-1].RecvNS
	return endNS, n, endNS >= r.StartNS
}

// delay is how late a request of a schedule may be without counting as delayed.
const delay = time.Millisecond

// Delayed reports whether a request was handed to the client later than the
// schedule wanted it sent: by more than a millisecond. One without a schedule, or
// of a file that does not hold it, is not.
func Delayed(r *export.Request) bool {
	return r.ScheduledNS > 0 && r.IssuedNS > r.ScheduledNS+uint64(delay)
}
