package spool

import (
	"cmp"
	"sort"
)

const (
	blockBytes   = 1 << 16 // of a block of records, unless one record takes more
	cachedBlocks = 64      // blocks of the file that stay in memory while records are read
	refsAtOnce   = 1 << 13 // keys of a slice, so that growth copies none
)

// Records keeps packed records and gives them back in the order of their keys: in memory up to the bound of
// Blocks, and then in a temporary file. Besides, it takes 24 bytes for each record.
type Records struct {
	Blocks *Blocks

	kept   []Block
	packer Packer // the last block
	refs   refs
	cache  []cachedBlock // cachedBlocks, or nil before the first
}

// A cachedBlock is a block of the file in memory.
type cachedBlock struct {
	block int // number of the block, from 1; 0: none
	bytes []byte
}

// A ref holds the keys of a record, and where it is.
type ref struct {
	first, second uint64
	block, offset uint32
}

func (r *ref) compare(o *ref) int {
	return cmp.Or(cmp.Compare(r.first, o.first), cmp.Compare(r.second, o.second), cmp.Compare(r.block, o.block), cmp.Compare(r.offset, o.offset))
}

// refs holds and sorts refs. Equal keys stay in the order of Add.
type refs [][]ref

// Len implements sort.Interface.
func (r refs) Len() int {
	if len(r) == 0 {
		return 0
	}
	return (len(r)-1)*refsAtOnce + len(r[len(r)-1])
}

func (r refs) at(i int) *ref { return &r[i/refsAtOnce][i%refsAtOnce] }

// Less implements sort.Interface.
func (r refs) Less(i, j int) bool { return r.at(i).compare(r.at(j)) < 0 }

// Swap implements sort.Interface.
func (r refs) Swap(i, j int) {
	a, b := r.at(i), r.at(j)
	*a, *b = *b, *a
}

// Len returns the number of records.
func (s *Records) Len() int { return s.refs.Len() }

// Add keeps the record that record appends. Its keys are first, and then second.
func (s *Records) Add(first, second uint64, record func(p *Packer)) {
	if len(s.packer.Bytes) >= blockBytes {
		s.endBlock()
	}
	switch n := len(s.refs); {
	case n == 0:
		s.refs = append(s.refs, nil) // grows by what it holds: most of many Records are small
	case len(s.refs[n-1]) == refsAtOnce:
		s.refs = append(s.refs, make([]ref, 0, refsAtOnce))
	}
	last := &s.refs[len(s.refs)-1]
	*last = append(*last, ref{first, second, uint32(len(s.kept)), uint32(len(s.packer.Bytes))})
	record(&s.packer)
}

// endBlock keeps the last block.
func (s *Records) endBlock() {
	s.kept = append(s.kept, s.Blocks.Keep(s.packer.Bytes, 0))
	if s.packer.Bytes = s.packer.Bytes[:0]; cap(s.packer.Bytes) > 4*blockBytes {
		s.packer.Bytes = nil // of a large record
	}
}

// Sort orders the records by their keys. Records with equal keys stay in the order of Add. No record may be added
// after it.
func (s *Records) Sort() {
	s.endBlock()
	s.packer.Bytes = nil
	if !sort.IsSorted(s.refs) {
		sort.Sort(s.refs)
	}
}

// Second returns the second key of record i, in the order of Sort.
func (s *Records) Second(i int) uint64 { return s.refs.at(i).second }

// Each calls do with the bytes of each record, and more bytes after them, in the order of Sort, until it returns
// false. The bytes are valid until do returns.
func (s *Records) Each(do func(i int, record []byte) bool) {
	for i := range s.Len() {
		r := s.refs.at(i)
		if !do(i, s.block(int(r.block))[r.offset:]) {
			return
		}
	}
}

// block returns the bytes of a block.
func (s *Records) block(i int) []byte {
	b := &s.kept[i]
	if !b.InFile() {
		return s.Blocks.Bytes(b, nil, 0)
	}
	if s.cache == nil {
		s.cache = make([]cachedBlock, cachedBlocks)
	}
	slot := &s.cache[i%cachedBlocks]
	if slot.block != i+1 {
		slot.block, slot.bytes = i+1, s.Blocks.Bytes(b, slot.bytes, 0)
	}
	return slot.bytes
}

// Release drops all records.
func (s *Records) Release() {
	for i := range s.kept {
		s.Blocks.Release(&s.kept[i])
	}
	*s = Records{Blocks: s.Blocks}
}
