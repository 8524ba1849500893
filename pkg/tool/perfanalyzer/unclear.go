package perfanalyzer

import (
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// An unclearEnd describes a request whose end only the whole run shows. Either its one
// response is empty: the null response of a decoupled model, which does not count,
// or the answer of another model. Or the file holds no outputs (23.09 to 24.02), and
// the last response may have been a null response.
type unclearEnd struct {
	startNS, lastNS, beforeNS uint64 // beforeNS: the response before the last
	innerNS                   uint64 // median gap between the responses before the last; 0 for none
	responses                 int
	empty                     bool
}

// unclearOf returns the times that decide the end of a request; ok is false if its
// end is clear.
func unclearOf(r *export.Request) (u unclearEnd, ok bool) {
	n := len(r.Responses)
	if n == 0 {
		return u, false
	}
	blind := r.NoOutputs || r.OutputsDropped
	u = unclearEnd{startNS: r.StartNS, lastNS: r.Responses[n-1].RecvNS, responses: n}
	switch {
	case blind && n > 1:
		u.beforeNS = r.Responses[n-2].RecvNS
		u.innerNS = median(gaps(r.Responses[:n-1]))
		return u, true
	case !blind && n == 1 && len(r.Responses[0].Outputs) > 0 && pawindow.EmptyResponse(&r.Responses[0]):
		u.empty = true
		return u, true
	}
	return u, false
}

func gaps(responses []export.Response) []uint64 {
	var all []uint64
	for i := 1; i < len(responses); i++ {
		all = append(all, responses[i].RecvNS-min(responses[i-1].RecvNS, responses[i].RecvNS))
	}
	return all
}

// median sorts x and returns its upper median, x[n/2]; 0 if x is empty.
func median(x []uint64) uint64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// A null response comes right after the last response with output: after at most this
// part of a usual gap or, if a request has no other gap, within this time.
const (
	nullPart = 4
	nullTime = 2 * time.Millisecond
)

// nullLast decides for a run without outputs whether last responses were null, by
// the medians over its requests.
func nullLast(levels []levelData) bool {
	var last, inner []uint64
	for i := range levels {
		for _, u := range levels[i].unclear {
			if u.empty {
				continue
			}
			last = append(last, u.lastNS-min(u.beforeNS, u.lastNS))
			if u.innerNS > 0 {
				inner = append(inner, u.innerNS)
			}
		}
	}
	switch {
	case len(last) == 0:
		return false
	case len(inner) > 0:
		return median(last) < median(inner)/nullPart
	}
	return median(last) < uint64(nullTime)
}

// resolve decides the ends of the unclear requests, and counts the requests.
func (c *collector) resolve() {
	null := nullLast(c.levels)
	for i := range c.levels {
		l := &c.levels[i]
		for _, u := range l.unclear {
			end, responses := u.lastNS, u.responses
			switch {
			case u.empty && c.streamed:
				c.explainer.State("leaves out answers of one empty response", explain.Requests, explain.RequestRate, explain.Latency)
				continue
			case !u.empty && null:
				end, responses = u.beforeNS, responses-1
				c.explainer.State("ends at the response before the last, which holds no value", explain.Latency)
			}
			if end < u.startNS {
				continue
			}
			if l.guessed {
				l.extend(u.startNS, end)
			}
			if k := pawindow.Find(l.windows, end); k >= 0 {
				l.stats[k].Add(time.Duration(end-u.startNS), responses)
				c.keepLatency(l, end-u.startNS, k)
			} else {
				c.outside++
			}
		}
	}
}
