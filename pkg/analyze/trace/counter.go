package trace

import (
	"cmp"
	"maps"
	"math"
	"slices"

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

// writeInFlight writes how many of the requests had been sent and had not ended, as a counter.
func writeInFlight(w *writer, pid int, all []*request, origin uint64) {
	type change struct {
		ns uint64
		by int
	}
	changes := make([]change, 0, 2*len(all))
	for _, q := range all {
		if q.startNS != 0 && q.startNS <= q.endNS {
			changes = append(changes, change{q.startNS, 1}, change{q.endNS, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.by, b.by)) })
	n := 0
	for i, c := range changes {
		n += c.by
		if i == len(changes)-1 || changes[i+1].ns != c.ns {
			w.counter("requests in flight", pid, int64(c.ns-origin), float64(n))
		}
	}
}
