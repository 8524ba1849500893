package trace

import (
	"cmp"
	"container/heap"
	"slices"
)

// assignLanes gives each request a lane that no other request has at the same time: the request's
// slot if that lane is free, else the lowest lane that was used and is free, else a new lane. It
// sorts the requests by their begin, and returns the number of lanes.
func assignLanes(all []*request) (lanes int) {
	slices.SortStableFunc(all, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.beginNS, b.beginNS), cmp.Compare(a.args.ID, b.args.ID))
	})
	var busy laneEnds
	var free laneHeap // lanes that were released; some of them are taken again
	taken, released := map[int]bool{}, map[int]bool{}
	for _, q := range all {
		for len(busy) > 0 && busy[0].endNS <= q.beginNS {
			l := heap.Pop(&busy).(laneEnd).lane
			taken[l], released[l] = false, true
			heap.Push(&free, l)
		}
		lane := q.slot
		if lane < 0 || lane >= len(all) || taken[lane] {
			lane = lanes
			for len(free) > 0 {
				if l := heap.Pop(&free).(int); released[l] {
					lane = l
					break
				}
			}
		}
		taken[lane], released[lane] = true, false
		q.lane = lane
		lanes = max(lanes, lane+1)
		heap.Push(&busy, laneEnd{q.endNS, lane})
	}
	return lanes
}

// A laneEnd is the time at which the request of a lane ends.
type laneEnd struct {
	endNS uint64
	lane  int
}

// laneEnds is a heap with the earliest end first.
type laneEnds []laneEnd

func (h laneEnds) Len() int           { return len(h) }
func (h laneEnds) Less(i, j int) bool { return h[i].endNS < h[j].endNS }
func (h laneEnds) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *laneEnds) Push(x any)        { *h = append(*h, x.(laneEnd)) }
func (h *laneEnds) Pop() any          { return pop((*[]laneEnd)(h)) }

// laneHeap is a heap with the lowest lane first.
type laneHeap []int

func (h laneHeap) Len() int           { return len(h) }
func (h laneHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h laneHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *laneHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *laneHeap) Pop() any          { return pop((*[]int)(h)) }

// pop removes the last element.
func pop[T any](h *[]T) T {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
