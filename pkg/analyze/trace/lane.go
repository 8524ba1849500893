package trace

import (
	"cmp"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/lanes"
)

// assignLanes sorts the requests by their begin, gives each a lane, and returns the number of lanes.
func assignLanes(all []*request) (n int) {
	slices.SortStableFunc(all, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.beginNS, b.beginNS), cmp.Compare(a.args.ID, b.args.ID))
	})
	spans := make([]lanes.Span, len(all))
	for i, q := range all {
		spans[i] = lanes.Span{BeginNS: q.beginNS, EndNS: q.endNS, Slot: q.slot}
	}
	lane, n := lanes.Assign(spans)
	for i, q := range all {
		q.lane = lane[i]
	}
	return n
}
