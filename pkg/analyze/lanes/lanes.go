package lanes

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
	busy := queue[end]{before: func(a, b end) bool { return a.ns < b.ns }}
	free := queue[int]{before: func(a, b int) bool { return a < b }} // released lanes; some of them may be taken again
	var states []state                                               // of each lane
	for i, s := range spans {
		for len(busy.all) > 0 && busy.all[0].ns <= s.BeginNS {
			l := busy.pop().lane
			states[l] = released
			free.push(l)
		}
		l := s.Slot
		if l < 0 || l >= len(spans) || l < len(states) && states[l] == taken {
			l = lanes
			for len(free.all) > 0 {
				if f := free.pop(); states[f] == released {
					l = f
					break
				}
			}
		}
		for l >= len(states) {
			states = append(states, unused)
		}
		states[l] = taken
		lane[i] = l
		lanes = max(lanes, l+1)
		busy.push(end{s.EndNS, l})
	}
	return lane, lanes
}

// state is the state of a lane at a time.
type state uint8

const (
	unused state = iota
	taken
	released
)

// An end is the time at which the span of a lane ends.
type end struct {
	ns   uint64
	lane int
}

// A queue is a heap that holds, as all[0], the element that is before all others. Package container/heap
// allocates for each element.
type queue[T any] struct {
	all    []T
	before func(a, b T) bool
}

// push adds an element.
func (q *queue[T]) push(x T) {
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
func (q *queue[T]) pop() T {
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
