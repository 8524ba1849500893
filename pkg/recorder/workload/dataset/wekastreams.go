package dataset

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// A streamFinder finds which requests of a list followed each other, by the ids of their prompts: agents may run beside
// each other without an entry that names them.
//
// It first makes a chain of each run of requests whose prompts extend the one before, which must have ended and be of the same
// model. A request that extends no chain begins one, which forks from the request whose prompt it has the most blocks in common
// with. A chain then continues the chain that it forks from, after a reset of the context, unless this one goes on as it was or
// another fork of it has more in common.
type streamFinder struct {
	all     []wekaRequest
	chains  []wekaChain
	chainOf map[int]int   // of each request with ids
	forks   map[int][]int // chains that fork from a request
}

// A wekaChain is a run of requests, in order of time.
type wekaChain struct {
	requests []int
	tail     int // last request with ids, −1 for none
	// depth is the number of blocks in common with the request that the chain forks from.
	depth  int
	joined bool // it continues another chain
}

// simultaneous is the time by which a request may begin before the end of the one that it follows.
const simultaneous = time.Microsecond

// wekaStreams splits a list of requests into streams, each in order of time. The first stream has the first request.
func wekaStreams(all []wekaRequest, list []int) [][]int {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	s := &streamFinder{all: all, chainOf: map[int]int{}, forks: map[int][]int{}}
	slices.SortFunc(list, s.compare)
	for _, i := range list {
		s.add(i)
	}
	s.join()
	var streams [][]int
	for _, c := range s.chains {
		if !c.joined {
			streams = append(streams, c.requests)
		}
	}
	return streams
}

func (s *streamFinder) compare(a, b int) int { return compareRequests(s.all, a, b) }

// compareRequests compares requests by time, and by their order in the file if they have the same time.
func compareRequests(all []wekaRequest, a, b int) int {
	return cmp.Or(cmp.Compare(all[a].start, all[b].start), cmp.Compare(a, b))
}

// add adds a request to a chain, or begins one with it.
func (s *streamFinder) add(i int) {
	q := &s.all[i]
	if len(s.chains) == 0 {
		s.chains = append(s.chains, wekaChain{tail: -1})
		s.append(0, i)
		return
	}
	if len(q.ids) == 0 {
		s.append(0, i) // nothing says where it belongs
		return
	}
	if c := s.extended(i); c >= 0 {
		s.append(c, i)
		return
	}
	from, depth := s.origin(i)
	if from < 0 && s.chains[0].tail < 0 {
		s.append(0, i) // the first request with ids
		return
	}
	s.chains = append(s.chains, wekaChain{tail: -1, depth: depth})
	c := len(s.chains) - 1
	s.append(c, i)
	if from >= 0 {
		s.forks[from] = append(s.forks[from], c)
	}
}

// append adds a request to a chain.
func (s *streamFinder) append(chain, i int) {
	c := &s.chains[chain]
	c.requests = append(c.requests, i)
	if len(s.all[i].ids) > 0 {
		c.tail = i
		s.chainOf[i] = chain
	}
}

// follows reports whether a request of the same model can have followed another one.
func (s *streamFinder) follows(i, before int) bool {
	a, b := &s.all[before], &s.all[i]
	return a.model == b.model && a.end <= b.start+simultaneous
}

// extended returns the chain whose last prompt is the longest that the prompt of request i begins with, −1 for none.
func (s *streamFinder) extended(i int) int {
	found, most := -1, 0
	ids := s.all[i].ids
	for k, c := range s.chains {
		if c.tail < 0 {
			continue
		}
		tail := s.all[c.tail].ids
		if len(tail) <= most || len(tail) > len(ids) || tail[len(tail)-1] != ids[len(tail)-1] || !s.follows(i, c.tail) {
			continue
		}
		if commonPrefix(tail, ids) == len(tail) {
			found, most = k, len(tail)
		}
	}
	return found
}

// origin returns the last request of a chain whose prompt has the most blocks in common with the one of request i, and their number.
// If none has any, it is the one that ended last before it; −1 for none.
func (s *streamFinder) origin(i int) (from, depth int) {
	from, last := -1, -1
	for _, c := range s.chains {
		if c.tail < 0 {
			continue
		}
		tail := &s.all[c.tail]
		d := commonPrefix(tail.ids, s.all[i].ids)
		if d > depth || d == depth && d > 0 && len(tail.ids) > len(s.all[from].ids) {
			from, depth = c.tail, d
		}
		if s.follows(i, c.tail) && (last < 0 || tail.end > s.all[last].end) {
			last = c.tail
		}
	}
	if depth == 0 {
		from = last
	}
	return from, depth
}

// join joins the chains that continue others.
func (s *streamFinder) join() {
	queue, done := &requestQueue{all: s.all}, map[int]bool{}
	for from := range s.forks {
		heap.Push(queue, from)
	}
	for len(queue.requests) > 0 {
		from := heap.Pop(queue).(int)
		k := s.chainOf[from]
		if done[from] || s.chains[k].tail != from {
			continue // it goes on as it was
		}
		done[from] = true
		next := s.successor(from)
		if next < 0 {
			continue
		}
		c, added := &s.chains[k], &s.chains[next]
		inOrder := s.compare(c.requests[len(c.requests)-1], added.requests[0]) < 0
		c.requests, c.tail, added.joined = append(c.requests, added.requests...), added.tail, true
		if !inOrder { // some without ids lie between
			slices.SortFunc(c.requests, s.compare)
		}
		for _, i := range added.requests {
			s.chainOf[i] = k
		}
		// The other forks may continue the chain later.
		others := s.forks[from]
		moved := others[:0]
		for _, other := range others {
			o := &s.chains[other]
			if o.joined {
				continue
			}
			if d := commonPrefix(s.all[c.tail].ids, s.all[o.requests[0]].ids); d > 0 || o.depth == 0 {
				o.depth = d
				moved = append(moved, other)
			}
		}
		delete(s.forks, from)
		if there := s.forks[c.tail]; len(there) > 0 {
			moved = append(there, moved...)
		}
		s.forks[c.tail] = moved
		delete(done, c.tail)
		heap.Push(queue, c.tail)
	}
}

// successor returns the chain that forks from a request and continues its chain, −1 for none.
func (s *streamFinder) successor(from int) int {
	found := -1
	for _, k := range s.forks[from] {
		c := &s.chains[k]
		if c.joined || !s.follows(c.requests[0], from) {
			continue
		}
		if found < 0 || c.depth > s.chains[found].depth {
			found = k
		}
	}
	return found
}

// A requestQueue is a heap of requests by time.
type requestQueue struct {
	all      []wekaRequest
	requests []int
}

func (q *requestQueue) Len() int { return len(q.requests) }

func (q *requestQueue) Less(i, j int) bool {
	return compareRequests(q.all, q.requests[i], q.requests[j]) < 0
}

func (q *requestQueue) Swap(i, j int) { q.requests[i], q.requests[j] = q.requests[j], q.requests[i] }
func (q *requestQueue) Push(x any)    { q.requests = append(q.requests, x.(int)) }

func (q *requestQueue) Pop() any {
	last := len(q.requests) - 1
	x := q.requests[last]
	q.requests = q.requests[:last]
	return x
}
