package tokenizer

import "math"

// A pairTable maps the pair left<<32|right to the rank and the result of its merge, with
// open addressing.
type pairTable struct {
	slots []pairSlot // length is a power of two
	used  int
}

// A pairSlot is empty if rank is noRank.
type pairSlot struct {
	pair uint64
	rank uint32
	id   uint32
}

const noRank = math.MaxUint32

func newPairTable(n int) *pairTable {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &pairTable{slots: emptySlots(size)}
}

func emptySlots(n int) []pairSlot {
	slots := make([]pairSlot, n)
	for i := range slots {
		slots[i].rank = noRank
	}
	return slots
}

func (t *pairTable) slot(left, right uint32) *pairSlot {
	pair := uint64(left)<<32 | uint64(right)
	mask := uint64(len(t.slots) - 1)
	h := pair * 0x9E3779B97F4A7C15
	for h ^= h >> 32; ; h++ {
		s := &t.slots[h&mask]
		if s.pair == pair || s.rank == noRank {
			return s
		}
	}
}

// set enters a merge. As in the library, the last merge of a pair counts.
func (t *pairTable) set(left, right, rank, id uint32) {
	s := t.slot(left, right)
	if s.rank == noRank {
		if t.used++; t.used*2 > len(t.slots) {
			old := t.slots
			t.slots = emptySlots(2 * len(old))
			for _, o := range old {
				if o.rank != noRank {
					*t.slot(uint32(o.pair>>32), uint32(o.pair)) = o
				}
			}
			s = t.slot(left, right)
		}
	}
	*s = pairSlot{uint64(left)<<32 | uint64(right), rank, id}
}

// get returns the rank and the result of a merge. The rank is noRank if there is none.
func (t *pairTable) get(left, right uint32) (rank, id uint32) {
	s := t.slot(left, right)
	if s.rank == noRank {
		return noRank, 0
	}
	return s.rank, s.id
}

// scanLimit is the number of symbols up to which a scan of all pairs is faster than a
// heap.
const scanLimit = 48

// merge merges ids in place until no pair has a merge.
func (t *pairTable) merge(ids []uint32, s *scratch) []uint32 {
	switch {
	case len(ids) < 2:
		return ids
	case len(ids) <= scanLimit:
		return t.mergeByScan(ids, s)
	}
	return t.mergeByHeap(ids, s)
}

// mergeByScan scans all pairs for the merge of the lowest rank each time.
func (t *pairTable) mergeByScan(ids []uint32, s *scratch) []uint32 {
	// merges[i] is the merge of ids[i] and ids[i+1].
	merges := s.merges[:0]
	for i := range len(ids) - 1 {
		merges = append(merges, t.merged(ids[i], ids[i+1]))
	}
	s.merges = merges
	for {
		best, at := uint64(noMerge), -1
		for i, m := range merges {
			if m < best {
				best, at = m, i
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = uint32(best)
		ids = append(ids[:at+1], ids[at+2:]...)
		merges = append(merges[:at], merges[at+1:]...)
		if at > 0 {
			merges[at-1] = t.merged(ids[at-1], ids[at])
		}
		if at < len(merges) {
			merges[at] = t.merged(ids[at], ids[at+1])
		}
	}
}

// noMerge is larger than any rank<<32 | id.
const noMerge = math.MaxUint64

// merged returns rank<<32 | id of a merge, or noMerge.
func (t *pairTable) merged(left, right uint32) uint64 {
	s := t.slot(left, right)
	if s.rank == noRank {
		return noMerge
	}
	return uint64(s.rank)<<32 | uint64(s.id)
}

// A link is a symbol in a doubly linked list.
type link struct {
	id         uint32
	prev, next int32 // -1 at the ends
	gone       bool  // merged into the symbol before
}

// mergeByHeap takes O(n log n). The heap holds possible merges; a merge that became
// impossible is dropped at the top.
func (t *pairTable) mergeByHeap(ids []uint32, s *scratch) []uint32 {
	links := s.links[:0]
	heap := s.heap[:0]
	for i, id := range ids {
		links = append(links, link{id: id, prev: int32(i) - 1, next: int32(i) + 1})
		if i > 0 {
			if rank, _ := t.get(ids[i-1], id); rank != noRank {
				heap = append(heap, mergeKey(rank, i-1))
			}
		}
	}
	links[len(links)-1].next = -1
	heap.init()
	for len(heap) > 0 {
		rank, at := heap.pop()
		left := &links[at]
		if left.gone || left.next < 0 {
			continue
		}
		right := &links[left.next]
		nowRank, id := t.get(left.id, right.id)
		if nowRank != rank {
			continue
		}
		left.id = id
		right.gone = true
		left.next = right.next
		if left.next >= 0 {
			links[left.next].prev = int32(at)
			if rank, _ := t.get(id, links[left.next].id); rank != noRank {
				heap.push(mergeKey(rank, at))
			}
		}
		if left.prev >= 0 {
			if rank, _ := t.get(links[left.prev].id, id); rank != noRank {
				heap.push(mergeKey(rank, int(left.prev)))
			}
		}
	}
	s.links, s.heap = links, heap
	ids = ids[:0]
	for i := int32(0); i >= 0; i = links[i].next {
		ids = append(ids, links[i].id)
	}
	return ids
}

// A mergeHeap holds possible merges as rank<<32 | position of the left symbol, the
// smallest first. A node has four children, which takes a third less time than two.
type mergeHeap []uint64

func mergeKey(rank uint32, at int) uint64 { return uint64(rank)<<32 | uint64(at) }

func (h mergeHeap) init() {
	for i := len(h)/4 + 1; i > 0; i-- {
		if i <= len(h) {
			h.down(i - 1)
		}
	}
}

func (h mergeHeap) down(i int) {
	key := h[i]
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c] < h[least] {
				least = c
			}
		}
		if h[least] >= key {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = key
}

func (h *mergeHeap) push(key uint64) {
	*h = append(*h, key)
	q := *h
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if q[parent] <= key {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = key
}

func (h *mergeHeap) pop() (rank uint32, at int) {
	q := *h
	key := q[0]
	q[0] = q[len(q)-1]
	*h = q[:len(q)-1]
	if len(*h) > 0 {
		h.down(0)
	}
	return uint32(key >> 32), int(uint32(key))
}
