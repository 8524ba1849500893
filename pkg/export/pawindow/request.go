package pawindow

import (
	"bytes"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// done marks the last event of an OpenAI server's answer for perf_analyzer, which does not
// recognize the mark without the space.
var done = []byte("data: [DONE]")

// NullLast reports whether the last response of r is one that perf_analyzer does not
// count. From an OpenAI server it is any response that contains "data: [DONE]". From
// another server it is a response after others that has no output with a value. The
// export shows such an output as "", and also one whose text is empty, so that both count
// as null.
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
			if bytes.Contains(last.Outputs[i].Value.Bytes(), done) {
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

// End returns the end of a request and its number of responses as perf_analyzer counts
// them: without the last response if that is null. ok is false for a request that
// perf_analyzer does not count: it has no other response, or the clock was set back
// meanwhile.
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

// delay is the lateness up to which a request of a schedule does not count as delayed.
const delay = time.Millisecond

// Delayed reports whether a request was handed to the client more than a millisecond after
// its scheduled time. It returns false for a request without a scheduled time.
func Delayed(r *export.Request) bool {
	return r.ScheduledNS > 0 && r.IssuedNS > r.ScheduledNS+uint64(delay)
}
