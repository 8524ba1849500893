package dataset

import (
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A moment is a time of a session at which requests may begin: when the delays of all edges are over. Without edges it is when the
// session begins. A moment does not change.
type moment []workload.Edge

// after returns the moment when a request has ended.
func after(node int) moment { return moment{{From: node}} }

// and returns the later one of two moments.
func (m moment) and(other moment) moment {
	var all moment
	for _, e := range append(m[:len(m):len(m)], other...) {
		all = all.with(e)
	}
	return all
}

// with adds an edge to m, or makes an edge like it longer.
func (m moment) with(e workload.Edge) moment {
	for i, old := range m {
		if old.From == e.From && old.Anchor == e.Anchor {
			m[i].Delay = max(old.Delay, e.Delay)
			return m
		}
	}
	return append(m, e)
}

// plus returns the moment a time after m. ok is false if that cannot be said: nothing comes before m.
func (m moment) plus(d time.Duration) (_ moment, ok bool) {
	if d == 0 || len(m) == 0 {
		return m, d == 0
	}
	later := make(moment, len(m))
	for i, e := range m {
		e.Delay += d
		later[i] = e
	}
	return later, true
}
