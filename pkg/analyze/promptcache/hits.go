package promptcache

import (
	"cmp"
	"slices"
)

// A Request reads from the cache at StartNS, and fills it at EndNS.
type Request struct {
	StartNS, EndNS uint64
	Prompt         int32 // the node at the end of the prompt
	// Filled is the node at the end of what the request leaves in the cache; Root for nothing. It is Prompt, or comes after it.
	Filled int32
}

// A Hit says how many tokens of a prompt the cache had when the request was sent.
type Hit struct {
	// Tokens is the longest beginning that an earlier request had left, in a cache without limit.
	Tokens int64
	// Blocks is what whole blocks hold of it.
	Blocks int64
	// Kept is what whole blocks hold of it in a cache of limited size; Blocks without a size.
	Kept int64
}

// Hits returns the hit of each request, which are in the order of their starts. block is the number of tokens of a block, at
// least 1. size is the number of tokens that the limited cache holds, in whole blocks; 0 for no limit.
//
// When a request has ended, its blocks are the most recently used ones, the first block of all. So are the blocks that a
// request reads, when it is sent. The least recently used blocks leave a full cache, so that no block is left without the
// blocks before it. Ends come before starts of the same instant, and no request reads what it leaves itself.
func (c *Cache) Hits(requests []Request, block int, size int64) []Hit {
	hits := make([]Hit, len(requests))
	present := make([]bool, len(c.nodes))
	present[Root] = true
	var kept *lru
	if size > 0 {
		kept = c.newLRU(block, size)
	}
	for _, e := range eventsOf(requests) {
		r := &requests[e.request]
		if e.kind == eventStart {
			n := r.Prompt
			for !present[n] {
				n = c.nodes[n].parent
			}
			h := &hits[e.request]
			h.Tokens = int64(c.nodes[n].depth)
			h.Blocks = h.Tokens - h.Tokens%int64(block)
			h.Kept = h.Blocks
			if kept != nil {
				h.Kept = kept.read(n) * int64(block)
			}
			continue
		}
		for n := r.Filled; !present[n]; n = c.nodes[n].parent {
			present[n] = true
		}
		if kept != nil {
			kept.fill(r.Filled)
		}
	}
	return hits
}

// An event is the start or the end of a request.
type event struct {
	ns      uint64
	request int32
	kind    eventKind
}

// The kinds of events, in the order in which they come at one instant.
type eventKind uint8

const (
	eventEnd eventKind = iota
	eventStart
	eventEndAtOnce // the end of a request that took no time
)

// eventsOf returns the starts and ends of requests in the order of time.
func eventsOf(requests []Request) []event {
	events := make([]event, 0, 2*len(requests))
	for i := range requests {
		r := &requests[i]
		events = append(events, event{r.StartNS, int32(i), eventStart}) //nolint:gosec // a number of requests
		switch {
		case r.Filled == Root:
		case r.EndNS > r.StartNS:
			events = append(events, event{r.EndNS, int32(i), eventEnd}) //nolint:gosec // as above
		default:
			events = append(events, event{r.StartNS, int32(i), eventEndAtOnce}) //nolint:gosec // as above
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.kind, b.kind), cmp.Compare(a.request, b.request))
	})
	return events
}

// An lru is a cache of blocks that forgets the least recently used one. A block is a beginning of prompts that ends at a
// multiple of its size; first[n] is the number of the first block that ends between the parent of node n and the node.
type lru struct {
	nodes        []node
	first        []int32
	block        int32
	older, newer []int32 // neighbours of each block, in a ring through block 0, which is none
	in           []bool
	n, most      int64
	path         []int32 // of a call
}

func (c *Cache) newLRU(block int, size int64) *lru {
	l := &lru{nodes: c.nodes, first: make([]int32, len(c.nodes)), block: int32(block), most: size / int64(block)}
	next := int32(1)
	for i := range c.nodes[1:] {
		n := &c.nodes[i+1]
		l.first[i+1] = next
		next += n.depth/l.block - c.nodes[n.parent].depth/l.block
	}
	l.older, l.newer, l.in = make([]int32, next), make([]int32, next), make([]bool, next)
	return l
}

// blocks sets path to the blocks up to a node, in their order.
func (l *lru) blocks(n int32) {
	count := l.nodes[n].depth / l.block
	l.path = slices.Grow(l.path[:0], int(count))[:count]
	for ; n != Root; n = l.nodes[n].parent {
		from := l.nodes[l.nodes[n].parent].depth / l.block
		for k := from; k < l.nodes[n].depth/l.block; k++ {
			l.path[k] = l.first[n] + k - from
		}
	}
}

// read returns the number of blocks from the beginning of a path that are there, and makes them the most recent ones.
func (l *lru) read(n int32) int64 {
	l.blocks(n)
	k := 0
	for k < len(l.path) && l.in[l.path[k]] {
		k++
	}
	for i := k - 1; i >= 0; i-- {
		l.touch(l.path[i])
	}
	return int64(k)
}

// fill adds the blocks of a path.
func (l *lru) fill(n int32) {
	l.blocks(n)
	for i := len(l.path) - 1; i >= 0; i-- {
		l.touch(l.path[i])
	}
	for l.n > l.most {
		oldest := l.newer[0]
		l.unlink(oldest)
		l.in[oldest] = false
		l.n--
	}
}

// touch makes a block the most recent one.
func (l *lru) touch(b int32) {
	if l.in[b] {
		l.unlink(b)
	} else {
		l.in[b] = true
		l.n++
	}
	l.older[b], l.newer[b] = l.older[0], 0
	l.newer[l.older[b]] = b
	l.older[0] = b
}

func (l *lru) unlink(b int32) {
	l.newer[l.older[b]], l.older[l.newer[b]] = l.newer[b], l.older[b]
}
