package view

// A Span is the time of a request. Slot is the slot that sent it, or any number below 0.
type Span struct {
	BeginNS, EndNS uint64
	Slot           int
}

// assignLanes returns the lane of each span, in the order of their begins, and the number of lanes: see
// [LaneAssigner.Next].
func assignLanes(spans []Span) (lane []int, lanes int) {
	a := NewLaneAssigner(len(spans))
	lane = make([]int, len(spans))
	for i, s := range spans {
		lane[i] = a.Next(s)
	}
	return lane, a.Lanes()
}

// A LaneAssigner assigns lanes to one span after the other.
type LaneAssigner struct {
	spans  int
	busy   laneQueue[laneEnd]
	free   laneQueue[int] // released lanes; some of them may be taken again
	states []laneState    // of each lane
	lanes  int
}

// NewLaneAssigner returns a LaneAssigner for so many spans.
func NewLaneAssigner(spans int) *LaneAssigner {
	return &LaneAssigner{
		spans: spans,
		busy:  laneQueue[laneEnd]{before: func(a, b laneEnd) bool { return a.ns < b.ns }},
		free:  laneQueue[int]{before: func(a, b int) bool { return a < b }},
	}
}

// Lanes returns the number of lanes so far.
func (a *LaneAssigner) Lanes() int { return a.lanes }

// Next returns a lane that no other span has at the same time: the span's slot if that lane is free, else the
// lowest lane that was used and is free, else a new lane. A slot that is not below the number of spans counts as
// none. The spans must come in the order of their begins.
func (a *LaneAssigner) Next(s Span) int {
	for len(a.busy.all) > 0 && a.busy.all[0].ns <= s.BeginNS {
		l := a.busy.pop().lane
		a.states[l] = released
		a.free.push(l)
	}
	l := s.Slot
	if l < 0 || l >= a.spans || l < len(a.states) && a.states[l] == taken {
		l = a.lanes
		for len(a.free.all) > 0 {
			if f := a.free.pop(); a.states[f] == released {
				l = f
				break
			}
		}
	}
	for l >= len(a.states) {
		a.states = append(a.states, unused)
	}
	a.states[l] = taken
	a.lanes = max(a.lanes, l+1)
	a.busy.push(laneEnd{s.EndNS, l})
	return l
}

// laneState is the state of a lane at a time.
type laneState uint8

const (
	unused laneState = iota
	taken
	released
)

// A laneEnd is the time at which the span of a lane ends.
type laneEnd struct {
	ns   uint64
	lane int
}

// A laneQueue is a heap that holds, as all[0], the element that is before all others. Package container/heap
// allocates for each element.
type laneQueue[T any] struct {
	all    []T
	before func(a, b T) bool
}

// push adds an element.
func (q *laneQueue[T]) push(x T) {
	q.all = append(q.all, x)
	for i := len(q.all) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.before(q.all[i], q.all[parent]) {
			break
		}
		q.all[i], q.all[parent] = q.all[parent], q.all[i]
		i = parent
	}
}

// pop removes the first element. There must be one.
func (q *laneQueue[T]) pop() T {
	first, last := q.all[0], len(q.all)-1
	q.all[0] = q.all[last]
	q.all = q.all[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q.before(q.all[child+1], q.all[child]) {
			child++
		}
		if !q.before(q.all[child], q.all[i]) {
			break
		}
		q.all[i], q.all[child] = q.all[child], q.all[i]
		i = child
	}
	return first
}
