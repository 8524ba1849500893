package diff

import (
	"cmp"
	"container/heap"
	"errors"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/spool"
)

// A gap is a time between two tokens.
type gap struct {
	end      uint64
	ns       int64
	perToken float64 // the estimated time per token
	tokens   int     // that have it
}

const (
	gapsOfRun   = 1 << 16 // gaps that are sorted in memory
	gapsOfBlock = 1 << 9
)

// A gapSorter sorts the gaps of a level by their ends. Gaps that end together stay in the order of add. It keeps
// the gaps in sorted runs of blocks, in memory up to a bound, and merges the runs.
type gapSorter struct {
	maxBytes int64
	blocks   *spool.Blocks
	last     []gap // of no run yet
	spare    []gap // a buffer of sort
	runs     [][]spool.Block
	packer   spool.Packer
}

// newGapSorter returns a gapSorter whose blocks take maxBytes of memory.
func newGapSorter(maxBytes int64) *gapSorter {
	return &gapSorter{maxBytes: maxBytes, blocks: spool.NewBlocks(maxBytes, "", "gaps")}
}

func (s *gapSorter) add(g gap) {
	s.last = append(s.last, g)
	if len(s.last) == gapsOfRun {
		s.endRun()
	}
}

// sort sorts the last gaps. The gaps of an answer are in order already, so that sort merges neighbouring rows of
// ascending gaps until one is left.
func (s *gapSorter) sort() {
	var ends []int // of the rows
	for i := range s.last {
		if i > 0 && s.last[i].end < s.last[i-1].end {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(s.last))
	for len(ends) > 1 {
		merged, from := s.spare[:0], 0
		left := ends[:0]
		for len(ends) > 1 {
			merged = appendMerged(merged, s.last[from:ends[0]], s.last[ends[0]:ends[1]])
			from, ends = ends[1], ends[2:]
			left = append(left, from)
		}
		if len(ends) == 1 {
			merged = append(merged, s.last[from:ends[0]]...)
			left = append(left, ends[0])
		}
		ends = left
		s.last, s.spare = merged, s.last
	}
}

// appendMerged appends the gaps of two sorted rows to all in their order; gaps of x come before gaps of y that end
// with them.
func appendMerged(all, x, y []gap) []gap {
	for len(x) > 0 && len(y) > 0 {
		if y[0].end < x[0].end {
			all, y = append(all, y[0]), y[1:]
		} else {
			all, x = append(all, x[0]), x[1:]
		}
	}
	return append(append(all, x...), y...)
}

// endRun makes a run of the last gaps.
func (s *gapSorter) endRun() {
	s.sort()
	var run []spool.Block
	for part := range slices.Chunk(s.last, gapsOfBlock) {
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
	s.last = s.last[:0]
}

// drain calls do with the gaps in the order of their ends, and removes them.
func (s *gapSorter) drain(do func(g *gap)) error {
	if s.runs == nil {
		s.sort()
		for i := range s.last {
			do(&s.last[i])
		}
		s.last, s.spare = nil, nil
		return nil
	}
	if len(s.last) > 0 {
		s.endRun()
	}
	s.last, s.spare = nil, nil
	var open gapRuns
	for i, blocks := range s.runs {
		r := &gapRun{number: i, blocks: blocks}
		r.advance(s.blocks)
		open = append(open, r)
	}
	heap.Init(&open)
	for len(open) > 0 {
		r := open[0]
		do(&r.now)
		if r.advance(s.blocks) {
			heap.Fix(&open, 0)
		} else {
			heap.Pop(&open)
		}
	}
	err := errors.Join(s.blocks.Err(), s.close())
	*s = *newGapSorter(s.maxBytes)
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
