package lanes

import "container/heap"

// A Span is the time of a request. Slot is the slot that sent it, or any number below 0.
type Span struct {
	BeginNS, EndNS uint64
	Slot           int
}

// Assign gives each span a lane that no other span has at the same time: its slot if that lane is free,
// else the lowest lane that was used and is free, else a new lane. A slot of len(spans) or more counts as
// none. The spans must be in the order of their begins. Assign returns the lane of each span, and the
// number of lanes.
func Assign(spans []Span) (lane []int, lanes int) {
	lane = make([]int, len(spans))
	var busy ends
	var free lowest // lanes that were released; some of them are taken again
	taken, released := map[int]bool{}, map[int]bool{}
	for i, s := range spans {
		for len(busy) > 0 && busy[0].ns <= s.BeginNS {
			l := heap.Pop(&busy).(end).lane
			taken[l], released[l] = false, true
			heap.Push(&free, l)
		}
		l := s.Slot
		if l < 0 || l >= len(spans) || taken[l] {
			l = lanes
			for len(free) > 0 {
				if f := heap.Pop(&free).(int); released[f] {
					l = f
					break
				}
			}
		}
		taken[l], released[l] = true, false
		lane[i] = l
		lanes = max(lanes, l+1)
		heap.Push(&busy, end{s.EndNS, l})
	}
	return lane, lanes
}

// An end is the time at which the span of a lane ends.
type end struct {
	ns   uint64
	lane int
}

// ends is a heap with the earliest end first.
type ends []end

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].ns < h[j].ns }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(end)) }
func (h *ends) Pop() any          { return pop((*[]end)(h)) }

// lowest is a heap with the lowest lane first.
type lowest []int

func (h lowest) Len() int           { return len(h) }
func (h lowest) Less(i, j int) bool { return h[i] < h[j] }
func (h lowest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowest) Push(x any)        { *h = append(*h, x.(int)) }
func (h *lowest) Pop() any          { return pop((*[]int)(h)) }

// pop removes the last element.
func pop[T any](h *[]T) T {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
