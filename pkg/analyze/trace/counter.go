package trace

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
)

// tokenWindowNS is the time over which token events are counted, and mostWindows the number of
// such windows of a process. Where a level has more, the windows become longer.
const (
	tokenWindowNS = 100e6
	mostWindows   = 20_000
)

// A tokenRate counts the token events of a process by windows of time.
type tokenRate struct {
	windowNS uint64
	counts   map[uint64]int64 // by time / windowNS
}

func newTokenRate() *tokenRate {
	return &tokenRate{windowNS: tokenWindowNS, counts: map[uint64]int64{}}
}

// add counts a token event.
func (t *tokenRate) add(ns uint64) {
	t.counts[ns/t.windowNS]++
	for len(t.counts) > mostWindows {
		t.windowNS *= 2
		wider := make(map[uint64]int64, len(t.counts)/2)
		for window, n := range t.counts {
			wider[window/2] += n
		}
		t.counts = wider
	}
}

// write writes the rate as a counter, which falls to 0 after a window without a following one.
func (t *tokenRate) write(w *writer, pid int, origin uint64) {
	const name = "token events per second"
	windows := slices.Sorted(maps.Keys(t.counts))
	for i, window := range windows {
		at := answer.Elapsed(origin, window*t.windowNS)
		if !at.OK || at.V > math.MaxInt64-int64(t.windowNS) {
			return // damaged times
		}
		w.counter(name, pid, at.V, float64(t.counts[window])/(float64(t.windowNS)/1e9))
		if i == len(windows)-1 || windows[i+1] != window+1 {
			w.counter(name, pid, at.V+int64(t.windowNS), 0)
		}
	}
}

// An inFlight counts how many requests had been sent and had not ended, over time.
type inFlight struct {
	memory *stat.Store
	// changes holds for each request twice the times of its start and of its end since the origin, and 1 more for
	// a start, so that an end comes before a start at the same time. All are less by 2⁶³, to fit an int64.
	changes *stat.List
	origin  uint64
}

// newInFlight returns an inFlight that keeps maxBytes in memory, and more in a temporary file.
func newInFlight(maxBytes int64, origin uint64) *inFlight {
	memory := stat.NewStore(maxBytes, "")
	return &inFlight{memory, memory.NewList(stat.Whole), origin}
}

// add adds a request.
func (f *inFlight) add(q *request) {
	if q.startNS != 0 && q.startNS <= q.endNS {
		f.changes.Add(int64((q.startNS-f.origin)*2+1-1<<63), int64((q.endNS-f.origin)*2-1<<63))
	}
}

// write writes the number as a counter.
func (f *inFlight) write(w *writer, pid int) error {
	n, at, some := 0, int64(0), false
	err := f.changes.Ascending(func(keys []int64) {
		for _, k := range keys {
			change := uint64(k) + 1<<63
			if ns := int64(change / 2); ns != at || !some {
				if some {
					w.counter(inFlightName, pid, at, float64(n))
				}
				at, some = ns, true
			}
			if change%2 == 1 {
				n++
			} else {
				n--
			}
		}
	})
	if some {
		w.counter(inFlightName, pid, at, float64(n))
	}
	return errors.Join(err, f.memory.Close())
}

const inFlightName = "requests in flight"
