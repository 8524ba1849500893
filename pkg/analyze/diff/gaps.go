package diff

import (
	"cmp"
	"container/heap"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/stat"
)

// A gap is a time between two tokens.
type gap struct {
	end      uint64
	ns       int64
	perToken float64 // the estimated time per token
	tokens   int     // that have it
}

const (
	gapsOfRun   = 1 << 14 // gaps that are sorted in memory at first
	bytesOfGap  = 150     // while it is sorted
	gapsOfBlock = 1 << 9
)

// A gapSorter passes the gaps of a level on in the order of their ends. Gaps that end together stay in the order of
// add. It passes gaps on as soon as no later gap can come before them, in a goroutine of its own. If too many gaps
// have to wait, it keeps them in sorted runs of blocks, in memory up to a bound, and merges the runs at the end.
type gapSorter struct {
	maxBytes int64
	blocks   *spool.Blocks
	last     []gap // that were added
	room     int   // gaps of last from which on they are sorted

	sorting sync.WaitGroup // while it runs, it has the fields below
	waiting []gap          // of no run yet
	spare   []gap          // buffers of sort
	keys    []int64
	scratch []int64
	runs    [][]spool.Block
	packer  spool.Packer
}

// newGapSorter returns a gapSorter whose blocks take maxBytes of memory.
func newGapSorter(maxBytes int64) *gapSorter {
	return &gapSorter{maxBytes: maxBytes, room: gapsOfRun, blocks: spool.NewBlocks(maxBytes, "", "gaps")}
}

func (s *gapSorter) add(g gap) { s.last = append(s.last, g) }

// settle makes room for further gaps, none of which ends before a time: it calls do in a goroutine with the gaps that
// ended before, in their order, and removes them.
func (s *gapSorter) settle(before uint64, do func(gaps []gap)) {
	if len(s.last) < s.room {
		return
	}
	s.sorting.Wait()
	if len(s.waiting) > s.room/2 { // they would be sorted again and again
		if s.runs == nil && (s.maxBytes == 0 || 2*bytesOfGap*int64(s.room) <= s.maxBytes) {
			s.room *= 2
		} else {
			s.endRun()
		}
	}
	s.join()
	s.sorting.Go(func() {
		s.sort()
		if s.runs != nil {
			s.endRun()
			return
		}
		n, _ := slices.BinarySearchFunc(s.waiting, before, func(g gap, end uint64) int { return cmp.Compare(g.end, end) })
		do(s.waiting[:n])
		s.waiting = append(s.waiting[:0], s.waiting[n:]...)
	})
}

// join waits until nothing is being sorted. It moves the last gaps to those that wait.
func (s *gapSorter) join() {
	s.sorting.Wait()
	s.waiting = append(s.waiting, s.last...)
	s.last = s.last[:0]
}

// sort sorts the waiting gaps by keys: the ends, from the first one on, and below them the times of the gaps if they
// have nothing else, or the places of the gaps.
func (s *gapSorter) sort() {
	if len(s.waiting) == 0 {
		return
	}
	least, most, times, whole := s.waiting[0].end, s.waiting[0].end, uint64(0), true
	for i := range s.waiting {
		g := &s.waiting[i]
		least, most, times, whole = min(least, g.end), max(most, g.end), times|uint64(g.ns), whole && g.tokens == 0
	}
	endBits, low := bits.Len64(most-least), bits.Len64(times)
	if whole = whole && endBits+low < 64; !whole {
		low = bits.Len(uint(len(s.waiting) - 1))
	}
	if endBits+low >= 64 {
		slices.SortStableFunc(s.waiting, func(x, y gap) int { return cmp.Compare(x.end, y.end) })
		return
	}
	s.keys = s.keys[:0]
	for i := range s.waiting {
		g, rest := &s.waiting[i], int64(i)
		if whole {
			rest = g.ns
		}
		s.keys = append(s.keys, int64((g.end-least)<<low)|rest)
	}
	s.scratch = stat.SortByHigh(s.keys, s.scratch, low)
	if whole {
		for i, k := range s.keys {
			s.waiting[i] = gap{end: least + uint64(k)>>low, ns: k & (1<<low - 1)}
		}
		return
	}
	s.spare = s.spare[:0]
	for _, k := range s.keys {
		s.spare = append(s.spare, s.waiting[k&(1<<low-1)])
	}
	s.waiting, s.spare = s.spare, s.waiting
}

// endRun makes a run of the waiting gaps, which are sorted.
func (s *gapSorter) endRun() {
	var run []spool.Block
	for part := range slices.Chunk(s.waiting, gapsOfBlock) {
		s.packer.Bytes = s.packer.Bytes[:0]
		before := uint64(0)
		for i := range part {
			g := &part[i]
			s.packer.Begin()
			s.packer.Int(int64(g.end - before))
			s.packer.Int(g.ns)
			s.packer.Int(int64(math.Float64bits(g.perToken)))
			s.packer.Int(int64(g.tokens))
			s.packer.End()
			before = g.end
		}
		run = append(run, s.blocks.Keep(s.packer.Bytes, 0))
	}
	s.runs = append(s.runs, run)
	s.waiting = s.waiting[:0]
}

// drain calls do with the gaps that are left in their order, and removes them.
func (s *gapSorter) drain(do func(gaps []gap)) error {
	s.join()
	s.sort()
	if s.runs == nil {
		do(s.waiting)
		s.last, s.waiting, s.spare, s.keys, s.scratch = nil, nil, nil, nil, nil
		return nil
	}
	if len(s.waiting) > 0 {
		s.endRun()
	}
	some := s.waiting
	s.last, s.waiting, s.spare, s.keys, s.scratch = nil, nil, nil, nil, nil
	var open gapRuns
	for i, blocks := range s.runs {
		r := &gapRun{number: i, blocks: blocks}
		r.advance(s.blocks)
		open = append(open, r)
	}
	heap.Init(&open)
	for len(open) > 0 {
		r := open[0]
		if some = append(some, r.now); len(some) >= gapsOfBlock {
			do(some)
			some = some[:0]
		}
		if r.advance(s.blocks) {
			heap.Fix(&open, 0)
		} else {
			heap.Pop(&open)
		}
	}
	do(some)
	err := errors.Join(s.blocks.Err(), s.close())
	s.blocks, s.runs, s.room = spool.NewBlocks(s.maxBytes, "", "gaps"), nil, gapsOfRun
	return err
}

// close removes the temporary file.
func (s *gapSorter) close() error { return s.blocks.Close() }

// A gapRun reads a run of a gapSorter.
type gapRun struct {
	number int
	blocks []spool.Block // that are not read yet
	now    gap

	unpacker spool.Unpacker
	buf      []byte
}

// advance sets now to the next gap; false at the end of the run.
func (r *gapRun) advance(from *spool.Blocks) bool {
	if len(r.unpacker.Bytes) == 0 {
		if len(r.blocks) == 0 {
			return false
		}
		b := &r.blocks[0]
		r.blocks, r.now.end = r.blocks[1:], 0
		r.unpacker.Bytes = from.Bytes(b, r.buf, 0)
		if b.InFile() {
			r.buf = r.unpacker.Bytes
		}
	}
	u := &r.unpacker
	u.Begin()
	r.now = gap{end: r.now.end + uint64(u.Int()), ns: u.Int(), perToken: math.Float64frombits(uint64(u.Int())), tokens: int(u.Int())}
	return true
}

// gapRuns is a heap of runs by their next gaps.
type gapRuns []*gapRun

// Len implements heap.Interface.
func (r gapRuns) Len() int { return len(r) }

// Less implements heap.Interface.
func (r gapRuns) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(r[i].now.end, r[j].now.end), cmp.Compare(r[i].number, r[j].number)) < 0
}

// Swap implements heap.Interface.
func (r gapRuns) Swap(i, j int) { r[i], r[j] = r[j], r[i] }

// Push implements heap.Interface.
func (r *gapRuns) Push(x any) { *r = append(*r, x.(*gapRun)) }

// Pop implements heap.Interface.
func (r *gapRuns) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
